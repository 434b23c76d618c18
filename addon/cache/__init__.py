# SPDX-License-Identifier: GPL-3.0-or-later
"""Where simulated frames lie on the disk."""
