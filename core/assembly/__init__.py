# SPDX-License-Identifier: GPL-3.0-or-later
"""Sparse matrices of 3 × 3 blocks: a fixed pattern, and off-pattern blocks."""
