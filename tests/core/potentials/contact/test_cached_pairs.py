# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidates by cached pairs beside those of a search from nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from supple.core.potentials.contact.collision_detection import (
    MARGIN_RATIO,
    BroadPhase,
    CachedPairs,
    Candidates,
    Sweep,
)
from supple.verification.meshes import block

PLATE = block((8, 8, 1), (1.0, 1.0, 0.1))
RADIUS, MARGIN = 0.01, 0.02


class Watched(BroadPhase):
    """Counts the pairs of leaves that are looked at, and the searches from nothing."""

    looked_at = searches = 0

    def among(self, swept: Sweep, leaves: Any) -> Candidates:
        self.looked_at += len(leaves)
        return super().among(swept, leaves)

    def candidates(self, before: Any, after: Any, *radii: Any) -> Candidates:
        self.searches += 1
        return super().candidates(before, after, *radii)


def plates(gaps: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """One above the other, all but the lowest turned somewhat."""
    used, triangles = np.unique(PLATE.surface, return_inverse=True)
    triangles, flat = triangles.reshape(-1, 3), PLATE.vertices[used] - PLATE.vertices.mean(axis=0)
    points, faces, height = [], [], 0.0
    for number, gap in enumerate([0.0, *gaps]):
        height += gap + (0.1 if number else 0.0)
        turn = 0.3 * number
        around = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        points.append(np.column_stack([flat[:, :2] @ around.T, flat[:, 2] + height]))
        faces.append(triangles + number * len(used))
    sides = np.concatenate(faces)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    edges = np.unique(np.sort(sides, axis=1), axis=0).astype(np.int32)
    owners = np.repeat(np.arange(len(points)), len(used))
    return np.concatenate(points), edges, np.concatenate(faces).astype(np.int32), owners


class Pile:
    def __init__(
        self, gaps: list[float], least: float = 0.5, extras: np.ndarray | None = None
    ) -> None:
        self.points, edges, faces, self.owners = plates(gaps)
        count = self.owners.max() + 1
        parts = edges, faces, self.owners, np.ones((count, count), dtype=bool), extras
        self.broad_phase = Watched(self.points, *parts)
        self._alone = Watched(self.points, *parts)
        random = np.random.default_rng(1)
        # Each vertex has its own.
        self.radii = RADIUS * random.uniform(least, 1.0, len(self.points))
        margins = MARGIN * random.uniform(least, 1.0, len(self.points))
        self.pairs = CachedPairs(self.broad_phase, self.radii, margins / MARGIN_RATIO)

    def check(self, before: np.ndarray, after: np.ndarray) -> Candidates:
        """Return the candidates, once both ways have found the same."""
        found = self.pairs.candidates(before, after)
        wanted = self._alone.candidates(before, after, self.radii)
        np.testing.assert_array_equal(found.edge_edges, wanted.edge_edges)
        np.testing.assert_array_equal(found.face_vertices, wanted.face_vertices)
        return found

    @property
    def share_looked_at(self) -> float:
        """The share of leaves that this search looks at, among those of a search from nothing."""
        return self.broad_phase.looked_at / self._alone.looked_at


#: How much farther than by their radii three plates are looked for.
EXTRAS = np.array([[0.0, 0.004, 0.02], [0.004, 0.002, 0.0], [0.02, 0.0, 0.0]])


@pytest.mark.parametrize("extras", [None, EXTRAS], ids=["", "some farther"])
@pytest.mark.parametrize("scale", [1e-3, 4e-3, 2e-2])
def test_whatever_moves_the_candidates_are_those_of_a_search_from_nothing(scale, extras) -> None:
    pile, random = Pile([0.01, 0.015], extras=extras), np.random.default_rng(2)
    points, sizes = pile.points, []
    for _ in range(25):
        # Each vertex trembles, and each plate goes its way.
        along = random.normal(scale=scale, size=(3, 3))[pile.owners]
        after = points + along + random.normal(scale=0.1 * scale, size=points.shape)
        sizes.append(len(pile.check(points, after)))
        points = points + random.uniform() * (after - points)
    assert max(sizes) > min(sizes) > 100
    # What trembles little has its pairs kept.
    assert pile.share_looked_at < {1e-3: 0.4, 4e-3: 0.7, 2e-2: 1.5}[scale]


def test_what_rests_is_looked_at_twice_and_then_never_again() -> None:
    pile = Pile([0.01])
    for _ in range(5):
        pile.check(pile.points, pile.points)
    searches, looked_at = pile.broad_phase.searches, pile.broad_phase.looked_at
    for _ in range(20):
        assert len(pile.check(pile.points, pile.points)) > 100
    assert pile.broad_phase.searches == searches == 1
    assert pile.broad_phase.looked_at == looked_at


@pytest.mark.parametrize("overshoot", [-1e-3, 1e-9, 1e-3])
@pytest.mark.parametrize("is_swept", [False, True])
def test_what_was_just_too_far_away_to_be_kept_is_found_when_it_comes(overshoot, is_swept) -> None:
    # Nothing of the upper plate is kept, and all of it comes near at once.
    pile = Pile([2.0 * (RADIUS + MARGIN) + 1e-3], least=1.0)
    for _ in range(3):
        assert not _between(pile, pile.check(pile.points, pile.points))
    lowered = pile.points.copy()
    lowered[pile.owners == 1, 2] -= 2.0 * MARGIN + 1e-3 + overshoot
    found = pile.check(pile.points if is_swept else lowered, lowered)
    assert bool(_between(pile, found)) == (overshoot > 0.0)


def test_half_the_way_before_and_half_along_a_trajectory_add_up() -> None:
    pile = Pile([2.0 * (RADIUS + MARGIN) + 1e-3], least=1.0)
    for _ in range(3):
        pile.check(pile.points, pile.points)
    half, whole = pile.points.copy(), pile.points.copy()
    half[pile.owners == 1, 2] -= 0.5 * (2.0 * MARGIN + 2e-3)
    whole[pile.owners == 1, 2] -= 2.0 * MARGIN + 2e-3
    assert _between(pile, pile.check(half, whole))


def test_one_that_is_lifted_far_away_and_put_elsewhere_is_found_there() -> None:
    pile = Pile([0.01, 1.0])
    for _ in range(3):
        pile.check(pile.points, pile.points)
    moved = pile.points.copy()
    moved[pile.owners == 0, 2] += 5.0
    moved[pile.owners == 2, 2] -= 1.0 - 0.01
    for _ in range(4):
        assert _between(pile, pile.check(moved, moved), 1, 2)
    assert _between(pile, pile.check(pile.points, pile.points), 0, 1)


def test_one_vertex_through_everything_has_little_looked_at_anew() -> None:
    pile = Pile([0.01, 0.01])
    for _ in range(3):
        pile.check(pile.points, pile.points)
    looked_at = pile.broad_phase.looked_at
    after = pile.points.copy()
    after[5] += [0.3, 0.2, 0.8]
    sizes = [len(pile.check(pile.points, after)) for _ in range(8)]
    assert min(sizes) > 500
    # Kept pairs are found anew only where that would help.
    assert pile.broad_phase.searches == 1
    assert pile.broad_phase.looked_at > looked_at


def _between(pile: Pile, found: Candidates, first: int = 0, second: int = 1) -> int:
    """The number of pairs of a face and a vertex on two plates."""
    faces, vertices = found.face_vertices.T
    count = len(PLATE.surface)
    return int(((faces // count == first) & (pile.owners[vertices] == second)).sum())
