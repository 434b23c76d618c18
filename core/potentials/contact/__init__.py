# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact of surfaces: collision detection, the barrier and friction."""
