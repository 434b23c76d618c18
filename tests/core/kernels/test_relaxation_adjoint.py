# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through passes over contacts, beside differences of what the passes do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from supple.core.integrators.contact_nodes import no_flat_tets
from supple.core.kernels.contact_constraints import GROUND, SURFACES, Constraints
from supple.core.kernels.contact_islands import find_islands, relax_islands
from supple.core.kernels.relaxation_adjoint import (
    ByConstraints,
    by_constraints,
    relax_again,
    relax_back,
)
from supple.tests.core.kernels.linear_contacts import random_contacts

RANDOM = np.random.default_rng(4)
COUNT, NODES, SETS = 4, 5, 6
#: Of the contacts: pressed by what opens it alone, by its barrier alone, on the ground, and one
#: that others open.
RATIOS = np.array([0.05, 0.9, 0.4, 0.97])
#: Friction slides where its coefficient is low, and holds where it is high.
STATIC = np.array([0.3, 5.0, 0.2, 0.0])
NODES_OF_CONTACTS = np.array(
    [[0, 1, 2, -1], [1, 2, 3, 4], [3, -1, -1, -1], [0, 2, 4, -1]], np.int32
)


def contacts() -> Constraints:
    nodes, normals = NODES_OF_CONTACTS, RANDOM.standard_normal((COUNT, 3))
    dhats = RANDOM.uniform(0.008, 0.012, COUNT)
    return Constraints(
        nodes=nodes,
        coefficients=RANDOM.uniform(-1.0, 1.0, nodes.shape) * (nodes >= 0),
        normals=normals / np.linalg.norm(normals, axis=1)[:, None],
        distances=RATIOS * dhats,
        displacements=0.001 * RANDOM.standard_normal((COUNT, 3)),
        dhats=dhats,
        scales=np.array([3.0, 0.1, 0.05, 0.1]),
        compliances=RANDOM.uniform(0.5, 1.5, COUNT) * 1e-4,
        static=STATIC,
        kinetic=0.6 * STATIC,
        kinds=np.array([SURFACES, SURFACES, GROUND, SURFACES], np.int64),
        forces=np.zeros(COUNT),
        frictions=np.zeros((COUNT, 3)),
    )


CONTACTS = [contacts() for _ in range(SETS)]
MOVES = 0.002 * RANDOM.standard_normal((SETS, NODES, 3))
MOBILITY = RANDOM.uniform(0.5, 1.5, (SETS, NODES)) * 1e-4
WANTED = RANDOM.standard_normal((NODES, 3))


class Passes:
    """Over one of the sets of contacts, with some of their members changed."""

    def __init__(self, index: int, count: int, tolerance: float = 0.0, **changed: Any) -> None:
        self.moves = changed.pop("moves", MOVES[index]).copy()
        self.mobility = changed.pop("mobility", MOBILITY[index])
        own = CONTACTS[index]._replace(**changed)
        self.constraints = Constraints(*(part.copy() for part in own))
        self.islands = find_islands(own.nodes, np.empty((0, 4), np.int32), self.mobility)
        self.trace, self.count = np.zeros((COUNT * (1 + count), 4)), count
        self.passes = np.empty(len(self.islands.contact_offsets) - 1, np.int64)
        of_all = self.islands, self.constraints, self.mobility, self.moves
        relax_again(*of_all, count, tolerance, self.trace, self.passes)

    @property
    def value(self) -> float:
        return float((WANTED * self.moves).sum())

    def back(self) -> ByConstraints:
        found = by_constraints(self.constraints, WANTED)
        of_all = self.islands, self.constraints, self.mobility, self.moves
        relax_back(*of_all, self.count, self.trace, self.passes, found)
        return found


@pytest.mark.parametrize(("count", "tolerance"), [(0, 0.0), (1, 0.0), (3, 0.0), (9, 0.3)])
@pytest.mark.parametrize("name", sorted(set(ByConstraints._fields) - {"forces", "frictions"}))
def test_gradients_are_those_of_the_passes(name: str, count: int, tolerance: float) -> None:
    rested = False
    for index in range(SETS):
        members = CONTACTS[index]._asdict() | {"moves": MOVES[index], "mobility": MOBILITY[index]}
        start = members[name]
        direction = start * RANDOM.standard_normal(start.shape)
        passes = Passes(index, count, tolerance)
        rested |= bool(np.isnan(passes.trace).any())
        gradient = (getattr(passes.back(), name) * direction).sum()
        above, below = (
            Passes(index, count, tolerance, **{name: start + k * 1e-6 * direction}) for k in (1, -1)
        )
        difference = (above.value - below.value) / 2e-6
        assert gradient == pytest.approx(difference, rel=1e-6, abs=1e-11)
    assert rested == (tolerance > 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_passes_are_taken_again_as_they_were(seed: int) -> None:
    own, mobility, wanted = random_contacts(seed, static=0.4, kinetic=0.3)
    again, moves = Constraints(*(part.copy() for part in own)), wanted.copy()
    islands = find_islands(own.nodes, np.empty((0, 4), np.int32), mobility)
    solved = relax_islands(islands, own, no_flat_tets(1), 0.4, mobility, wanted, 30, 0.1, 1)
    trace, passes = np.zeros((len(own.forces) * 31, 4)), np.empty(1, np.int64)
    relax_again(islands, again, mobility, moves, 30, 0.1, trace, passes)
    np.testing.assert_array_equal(moves, wanted)
    assert len(own.forces) * passes[0] - np.isnan(trace[:, 0]).sum() == solved


def test_what_was_before_the_passes_comes_back() -> None:
    opened = 0
    for index in range(SETS):
        passes = Passes(index, 3)
        before, after = passes.trace[COUNT:, 0].reshape(3, COUNT), passes.constraints.forces
        opened += np.count_nonzero((before > 0.0) & (np.vstack([before[1:], after]) == 0.0))
        passes.back()
        np.testing.assert_allclose(passes.moves, MOVES[index], atol=1e-15)
        np.testing.assert_allclose(passes.constraints.forces, 0.0, atol=1e-12)
    assert opened
