# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding the positions of least energy."""
