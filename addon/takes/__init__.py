# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes: simulations that are kept beside the present one, to compare and to go back to."""
