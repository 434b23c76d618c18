# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.core.geometry.tet_mesh import signed_volumes
from supple.core.meshing.cells import BccLattice


def test_lattice_tets_fill_space_and_are_all_alike() -> None:
    lattice = BccLattice.around(np.zeros(3), np.full(3, 2.0))
    nodes = lattice.nodes()
    tets = lattice.tets(np.ones(len(nodes), dtype=bool))
    np.testing.assert_allclose(signed_volumes(nodes, tets), 1 / 12)
    assert len(np.unique(np.sort(tets, axis=1), axis=0)) == len(tets)


def test_only_tets_with_a_wanted_node_are_made() -> None:
    lattice = BccLattice.around(np.zeros(3), np.full(3, 2.0))
    wanted = np.zeros(len(lattice.nodes()), dtype=bool)
    wanted[len(wanted) // 4] = True
    assert len(lattice.tets(wanted)) == 24
    assert wanted[lattice.tets(wanted)].any(axis=1).all()
