# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels: compiled loops over arrays, and the functions of one element that they are made of."""
