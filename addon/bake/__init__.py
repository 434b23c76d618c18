# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns simulated frames into what Blender renders."""
