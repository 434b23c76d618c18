# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies a little farther apart than the user guide says surfaces push do not move each other."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core import Contact, Scene, Simulator, SoftBody, SurfaceMesh, tetrahedralize
from supple.core.integrators import Automatic, ImplicitEuler, Integrator, SymplecticEuler

CORNERS = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
TRIANGLES = [t for a, b, c, d in SIDES for t in ([a, b, c], [a, c, d])]


def slab(size: tuple[float, float, float], bottom: float, edge_length: float) -> SoftBody:
    vertices = CORNERS * size + np.array([0.013 * size[0], 0.0, bottom])
    return SoftBody(SurfaceMesh(vertices, TRIANGLES, edge_length=edge_length))


def guide_distance(size: tuple[float, float, float], edge_length: float) -> float:
    """*Contact › Distance* of the user guide, at most: a fifth of an edge is longer here."""
    distance = 3e-3 * float(np.linalg.norm(size))
    assert distance < 0.2 * edge_length
    return distance


def displacement(
    gap_ratio: float,
    lower: tuple,
    upper: tuple,
    integrator: Integrator,
    distance: float | None = None,
) -> float:
    """The largest displacement in two frames of two slabs above each other, over the distance.

    Args:
        gap_ratio: the gap, in units of the smaller distance of the two.
        lower, upper: size in metres and edge length.
        distance: that of the two in metres; None is by their diagonals.
    """
    if distance is None:
        distance = min(guide_distance(*lower), guide_distance(*upper))
    bodies = [slab(lower[0], 0.0, lower[1])]
    bodies.append(slab(upper[0], lower[0][2] + gap_ratio * distance, upper[1]))
    simulator = Simulator(
        Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=Contact()), integrator, device="cpu"
    )
    start = simulator.state.positions.clone()
    for _ in simulator.run(2):
        pass
    return float((simulator.state.positions - start).abs().max()) / distance


THICK = (1.0, 1.0, 0.25), 0.2
SIZES = {
    "alike": (THICK, THICK),
    "plates of a metre": (((1.0, 1.0, 0.05), 0.2), ((1.0, 1.0, 0.05), 0.2)),
    "centimetres": (((0.04, 0.03, 0.01), 0.008), ((0.04, 0.03, 0.01), 0.008)),
    "a small one on a large one": (((2.0, 2.0, 0.5), 0.4), ((0.3, 0.2, 0.1), 0.08)),
    "a large one on a small one": (((0.3, 0.2, 0.1), 0.08), ((2.0, 2.0, 0.5), 0.4)),
    "ten metres": (((10.0, 6.0, 1.0), 1.5), ((10.0, 6.0, 1.0), 1.5)),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
def test_slabs_a_hair_farther_apart_than_the_distance_stay_still(sizes: tuple) -> None:
    lower, upper = sizes
    assert displacement(1.001, lower, upper, ImplicitEuler()) < 1e-9


@pytest.mark.parametrize("integrator", [SymplecticEuler(), Automatic()], ids=str)
def test_they_stay_still_in_explicit_steps(integrator: Integrator) -> None:
    assert displacement(1.001, THICK, THICK, integrator) < 1e-9


def test_a_bar_with_small_tetrahedra_stays_still_a_hair_beyond_a_fifth_of_an_edge() -> None:
    bar = (1.0, 0.02, 0.02), 0.012
    mesh = tetrahedralize(CORNERS * bar[0], TRIANGLES, edge_length=bar[1])
    distance = 0.2 * float(mesh.mean_edges.mean())
    assert distance < 0.9 * 3e-3
    assert displacement(1.001, bar, THICK, ImplicitEuler(), distance) < 1e-9


def test_slabs_that_are_nearer_push_each_other_away() -> None:
    assert displacement(0.7, THICK, THICK, ImplicitEuler()) > 0.05
