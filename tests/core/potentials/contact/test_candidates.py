# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of pairs, once others are candidates."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.potentials.contact.candidates import Candidates

KNOWN = Candidates(np.array([[0, 3], [1, 2], [7, 9]]), np.array([[0, 3], [4, 1], [4, 5]]))


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_pairs_that_stay_keep_their_values(shift: int) -> None:
    edges = np.array([[0, 2], [0, 3], [1, 2], [7, 9], [8, 1]])[shift:]
    faces = np.array([[4, 0], [4, 5]])
    values = np.array([0, 2, 5, 7, 0, 1])
    expected = {(1, 2): 2, (7, 9): 5}
    found = Candidates(edges, faces).carried(KNOWN, values)
    assert found[: len(edges)].tolist() == [expected.get((a, b), 0) for a, b in edges.tolist()]
    assert found[len(edges) :].tolist() == [0, 1]


def test_nothing_is_carried_to_and_from_no_pairs() -> None:
    values = np.arange(1, 7)
    assert len(Candidates.none().carried(KNOWN, values)) == 0
    assert KNOWN.carried(Candidates.none(), values[:0]).tolist() == [0] * 6
    np.testing.assert_array_equal(KNOWN.carried(KNOWN, values), values)
