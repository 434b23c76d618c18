# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through pairs that are made linear, beside differences of what is written of them."""

from __future__ import annotations

import itertools
from functools import cached_property

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from supple.core.integrators.contact_nodes import no_constraints
from supple.core.kernels.contact_constraints import (
    Constraints,
    Interpolation,
    PairLaws,
    write_pairs,
)
from supple.core.kernels.contact_constraints_adjoint import compliances_back, pairs_back
from supple.core.kernels.continuous_collision import CandidateStencils, stencil
from supple.core.kernels.pair_weights import pair_weight
from supple.core.kernels.relaxation_adjoint import ByConstraints, by_constraints
from supple.core.math3.closest_points import closest_points
from supple.core.math3.vectors import four_points
from supple.core.potentials.contact.topology import topology
from supple.tests.core.kernels.loose_parts import dhats_of

CORNERS, WANTED = 8, ("coefficients", "normals", "distances", "scales", "static", "kinetic")
STEP = 1e-6


class Bodies:
    """Two convex bodies that are close and move: all pairs of their parts."""

    def __init__(self, seed: int, area_weighted: bool = True, paint: bool = False) -> None:
        random = self.random = np.random.default_rng(seed)
        first, second = (ConvexHull(random.normal(size=(CORNERS, 3))) for _ in range(2))
        gap = first.points[:, 2].max() - second.points[:, 2].min() + 0.05
        self.points = np.concatenate([first.points, second.points + np.array([0.1, 0.2, gap])])
        self.ends = self.points + np.repeat(random.normal(size=(2, 3)), CORNERS, axis=0)
        faces = np.concatenate([first.simplices, second.simplices + CORNERS]).astype(np.int32)
        owners = np.repeat([0, 1], CORNERS)
        self.mesh = topology(self.points, faces, owners, 2)
        one, other = (np.flatnonzero(owners[self.mesh.edges[:, 0]] == k) for k in (0, 1))
        count = range(2 * CORNERS)
        apart = [
            (f, v) for f in range(len(faces)) for v in count if owners[faces[f, 0]] != owners[v]
        ]
        self.stencils = CandidateStencils(
            np.array(list(itertools.product(one, other)), np.int32),
            np.array(apart, np.int32),
            self.mesh.edges.astype(np.int32),
            faces,
        )
        nodes = np.stack([count, np.roll(count, 3)], axis=1).astype(np.int32)
        self.interpolation = Interpolation(nodes, random.uniform(0.2, 0.8, nodes.shape))
        d, k, static, kinetic = random.uniform(90.0, 110.0, (4, 2, 2))
        factors = random.uniform(0.5, 2.0, len(count)) if paint else np.empty(0)
        self.laws = PairLaws(d, k, static, kinetic, area_weighted, factors)
        self.pairs = np.arange(len(self.stencils.edge_edges) + len(apart))
        self.mobility = random.uniform(0.5, 1.5, len(count))

    def constraints(self, points: np.ndarray, ends: np.ndarray) -> Constraints:
        out = no_constraints(len(self.pairs), 2)
        out.coefficients.fill(0.0)
        blocked, still = np.zeros(len(self.pairs), np.int64), np.zeros((2 * CORNERS, 3))
        dhats = dhats_of(self.stencils, self.mesh, self.laws)
        of_pairs = self.pairs, self.stencils, dhats, blocked, self.mesh, self.laws, points, ends
        write_pairs(*of_pairs, self.interpolation, still, self.mobility, out)
        return out

    @cached_property
    def wanted(self) -> ByConstraints:
        own = self.constraints(self.points, self.ends)
        found = by_constraints(own, np.zeros((2 * CORNERS, 3)))
        for name in WANTED:
            part = getattr(found, name)
            part[:] = self.random.normal(size=part.shape)
        found.scales[:] /= own.scales.max()
        # What has no friction tells nothing by it.
        found.static[own.static == 0.0] = found.kinetic[own.static == 0.0] = 0.0
        return found

    def value(self, time: float, *moves: np.ndarray) -> np.ndarray:
        """(P,) of pairs."""
        places = zip((self.points, self.ends), moves, strict=True)
        own = self.constraints(*(part + time * move for part, move in places))
        total = np.zeros(len(self.pairs))
        for name in WANTED:
            part = getattr(own, name) * getattr(self.wanted, name)
            total += part.reshape(len(total), -1).sum(1)
        return total

    def partial(self) -> np.ndarray:
        """Pairs that count in part beside others."""
        of_all = self.stencils, self.mesh, self.laws, self.points
        shares = np.empty(len(self.pairs))
        for pair in self.pairs:
            *corners, are_edges = stencil(self.stencils, pair)
            x = four_points(self.points, *corners)
            closest = closest_points(are_edges, x)
            shares[pair] = pair_weight(*of_all, pair, x, closest)[1]
        # One of two or of three edges at a corner is no ramp.
        counts = 1.0 / np.arange(1, 12)
        is_whole = np.isclose(shares[:, None], np.r_[0.0, np.outer(counts, counts).ravel()])
        return np.flatnonzero(~is_whole.any(axis=1))

    def slopes(self, *moves: np.ndarray, pairs: np.ndarray | None = None) -> np.ndarray:
        """(P,) as the way back finds them; of some pairs alone if they are given."""
        found = np.zeros(len(self.pairs))
        own = self.constraints(self.points, self.ends)
        for k in self.pairs if pairs is None else pairs:
            one = slice(k, k + 1)
            parts = (part[one] for part in own)
            wanted = self.wanted._asdict() | {
                name: part[one] for name, part in self.wanted._asdict().items() if name in WANTED
            }
            out = np.zeros((2, 2 * CORNERS, 3))
            pairs_back(
                *(self.pairs[one], self.stencils, self.mesh, self.laws, self.points, self.ends),
                *(self.interpolation, Constraints(*parts)),
                ByConstraints(**wanted),
                *(np.empty((2, 1), np.int64), np.empty(1), *out),
            )
            found[k] = sum((part * move).sum() for part, move in zip(out, moves, strict=True))
        return found


@pytest.mark.parametrize("paint", [False, True], ids=["plain", "painted"])
@pytest.mark.parametrize("area_weighted", [False, True], ids=["added up", "by area"])
def test_gradients_of_pairs_are_those_of_what_is_written(area_weighted: bool, paint: bool) -> None:
    compared = 0
    for seed in range(12):
        bodies = Bodies(seed, area_weighted, paint)
        moves = bodies.random.normal(size=(2, 2 * CORNERS, 3))
        coarse, fine = (
            (bodies.value(step, *moves) - bodies.value(-step, *moves)) / (2.0 * step)
            for step in (2.0 * STEP, STEP)
        )
        size = 1.0 + abs(fine)
        # Where something changes between, as which parts are closest, differences tell nothing.
        is_smooth = abs(coarse - fine) < 1e-6 * size
        assert is_smooth.mean() > 0.98
        errors = abs(bodies.slopes(*moves) - fine) / size
        assert errors[is_smooth].max() < 1e-5
        compared += np.count_nonzero(is_smooth)
    assert compared > 4500


def test_gradients_of_pairs_that_count_in_part_are_those_of_what_is_written() -> None:
    compared = 0
    for seed in range(100, 200):
        bodies = Bodies(seed)
        pairs = bodies.partial()
        moves = bodies.random.normal(size=(2, 2 * CORNERS, 3))
        for name in WANTED:
            if name != "scales":
                getattr(bodies.wanted, name)[:] = 0.0
        # Their own share of the scale, as if it were one.
        bodies.wanted.scales[:] = 1.0 / bodies.constraints(bodies.points, bodies.ends).scales.max()
        coarse, fine = (
            (bodies.value(step, *moves) - bodies.value(-step, *moves)) / (2.0 * step)
            for step in (2.0 * STEP, STEP)
        )
        is_smooth = abs(coarse - fine)[pairs] < 1e-6
        found = bodies.slopes(*moves, pairs=pairs)[pairs]
        np.testing.assert_allclose(found[is_smooth], fine[pairs][is_smooth], atol=1e-6, rtol=1e-5)
        compared += np.count_nonzero(is_smooth & (abs(found) > 1e-3))
    assert compared > 200


def test_gradients_by_mobility_and_coefficients_are_those_of_compliances() -> None:
    bodies = Bodies(1)
    own = bodies.constraints(bodies.points, bodies.ends)
    found = by_constraints(own, np.zeros((2 * CORNERS, 3)))
    found.compliances[:] = bodies.random.normal(size=len(found.compliances))
    compliances_back(own, bodies.mobility, found)
    by_mobility = np.zeros(2 * CORNERS)
    for k, (nodes, c) in enumerate(zip(own.nodes, own.coefficients, strict=True)):
        for node, value, by_c in zip(nodes, c, found.coefficients[k], strict=True):
            if node >= 0:
                by_mobility[node] += value**2 * found.compliances[k]
                expected = 2.0 * value * bodies.mobility[node] * found.compliances[k]
                assert by_c == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(found.mobility, by_mobility)
