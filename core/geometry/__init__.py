# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes, points in them, distances and directions: no physics."""
