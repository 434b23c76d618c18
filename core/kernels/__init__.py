# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled loops, and the functions of one element that they are made of."""
