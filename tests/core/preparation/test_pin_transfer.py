# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.core import embed
from supple.core.preparation.pins import pinned_tet_vertices


def test_what_carries_a_pinned_point_is_pinned_and_nothing_else(make_block) -> None:
    mesh = make_block((2, 2, 2))
    corners = mesh.vertices[mesh.tets[5]]
    points = np.array(
        [corners[2], corners[:2].mean(axis=0), corners[1:].mean(axis=0), corners.mean(axis=0)]
    )
    embedding = embed(mesh, points)
    for point, count in enumerate((1, 2, 3, 4)):
        pinned = pinned_tet_vertices(embedding, np.array([point], dtype=np.int32))
        assert len(pinned) == count
        assert set(pinned) <= set(mesh.tets[5])
        rest = np.delete(np.arange(len(mesh.vertices)), pinned)
        moved = mesh.vertices.copy()
        moved[rest] += np.random.default_rng(1).normal(size=(len(rest), 3))
        np.testing.assert_allclose(embedding.interpolate(moved)[point], points[point], atol=1e-12)
