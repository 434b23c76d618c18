# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.groups import (
    chunks,
    components,
    distinct_pairs,
    equal_rows,
    expand,
    first_of_each,
    grouped,
    numbered_pairs,
    runs,
)


def test_the_least_entry_of_each_owner_is_found_by_the_next_key_where_they_are_equal() -> None:
    owner = np.array([4, 0, 4, 0, 4, 2])
    first_key = np.array([1.0, 3.0, 1.0, 2.0, 5.0, 0.0])
    second_key = np.array([9, 0, 8, 0, 0, 0])
    assert first_of_each(owner, first_key, second_key).tolist() == [3, 5, 2]
    # Without another key the first of them.
    assert first_of_each(owner, first_key).tolist() == [3, 5, 0]


def test_rows_of_the_same_numbers_follow_each_other() -> None:
    order, starts = equal_rows(np.array([[3, 1], [0, 2], [1, 3], [1, 0]]))
    assert order.tolist() == [3, 1, 0, 2]
    assert starts.tolist() == [0, 1, 2]


def test_pairs_that_are_there_twice_are_one() -> None:
    given = np.array([[7, 0], [0, 9], [7, 0], [0, 1], [9, 9], [0, 9]], dtype=np.int32)
    pairs, number = numbered_pairs(given)
    np.testing.assert_array_equal(distinct_pairs(given), pairs)
    assert pairs.tolist() == [[0, 1], [0, 9], [7, 0], [9, 9]]
    np.testing.assert_array_equal(pairs[number], given)
    pairs, number = numbered_pairs(np.empty((0, 2), dtype=np.int32))
    assert (pairs.shape, number.shape) == ((0, 2), (0,))
    large = np.array([[2_000_000_000, 1], [1, 2_000_000_000]], dtype=np.int32)
    np.testing.assert_array_equal(distinct_pairs(large), large[::-1])


def test_entries_of_a_group_follow_each_other_as_they_came() -> None:
    order, offsets = grouped(np.array([2, 0, 2, 3, 0]), 5)
    assert order.tolist() == [1, 4, 0, 2, 3]
    assert offsets.tolist() == [0, 2, 2, 4, 5, 5]


def test_expand_unrolls_a_ragged_list() -> None:
    owner, position = expand(np.array([2, 0, 3]))
    assert owner.tolist() == [0, 0, 2, 2, 2]
    assert position.tolist() == [0, 1, 0, 1, 2]


def test_a_ragged_list_comes_in_pieces_of_so_many_entries_or_of_one_owner() -> None:
    parts = list(chunks(np.array([2, 1, 0, 9, 3, 1]), 4))
    assert parts == [slice(0, 3), slice(3, 4), slice(4, 6)]


def test_equal_keys_follow_each_other_as_they_came() -> None:
    order, offsets = runs(np.array([7, 0, 7, 3, 0, 7]))
    assert order.tolist() == [1, 4, 3, 0, 2, 5]
    assert offsets.tolist() == [0, 2, 3, 6]
    order, offsets = runs(np.array([], dtype=int))
    assert (order.tolist(), offsets.tolist()) == ([], [0])


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([(4, 0), (1, 3)], [0, 1, 2, 1, 0]),
        ([(3, 4), (2, 3), (1, 2)], [0, 1, 1, 1, 1]),
        ([(2, 2)], [0, 1, 2, 3, 4]),
    ],
)
def test_components_are_numbered_by_their_first_nodes(links, expected) -> None:
    assert components(5, np.array(links)).tolist() == expected


def test_a_link_counts_however_often_it_is_named() -> None:
    assert components(2, np.array([(0, 1)] * 256)).tolist() == [0, 0]
