# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a Blender scene as the solver wants it."""
