# SPDX-License-Identifier: GPL-3.0-or-later
"""3 × 3 algebra: vectors, matrices and closest points of one element, and matrices of all tets."""
