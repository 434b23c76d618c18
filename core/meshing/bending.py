# SPDX-License-Identifier: GPL-3.0-or-later
"""The bending stiffness of parts that are thin for their tetrahedra.

A linear tetrahedron has one strain, so that a part with few of them across bends by shearing them.
That adds as much to its bending stiffness as the square of their edges over its thickness. No
compiled loops here: Blender's own process reads this.
"""

from __future__ import annotations

#: What is bent more stiffly than by this factor is reported.
MAX_BENDING_RATIO = 1.5
# What the square of the edge length over the thickness adds to the stiffness of a round bar, as
# measured in the lattice from a sixth of an edge to two edges across; of a slab a quarter less.
_SHEAR_FACTOR = 1.25


def bending_ratio(edge_length: float, thickness: float) -> float:
    """The bending stiffness of a part of a thickness, in units of that with short edges."""
    return 1.0 + _SHEAR_FACTOR * (edge_length / thickness) ** 2
