# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows what was simulated."""
