# SPDX-License-Identifier: GPL-3.0-or-later
"""Many shots, one after the other and side by side: the list, the processes and the report."""
