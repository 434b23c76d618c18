# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts that need no Blender: what gradients are for."""
