# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion for other programs: files, bones, and copies with a moving origin."""
