# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact between bodies, with themselves and with meshes."""
