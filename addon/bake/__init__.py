# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake simulated frames to data that Blender renders."""
