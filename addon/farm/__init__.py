# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of render farms: simulate once, bake, and render in parts side by side."""
