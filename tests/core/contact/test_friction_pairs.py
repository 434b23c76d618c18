# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import Collider, Contact, PairFriction, Scene, SceneError, SoftBody, Sphere
from supple.core.contact.friction_pairs import FrictionPairs

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.fixture
def make_pairs(make_block):
    """Makes the tables of two bodies, Jelly and Rubber, and a mesh, Table, beside a sphere."""

    def make(jelly=(None, None), rubber=(None, None), table=(None, None), **contact):
        bodies = [
            SoftBody(make_block(), friction=static, kinetic_friction=kinetic, name=name)
            for name, (static, kinetic) in (("Jelly", jelly), ("Rubber", rubber))
        ]
        mesh = Collider(CORNERS, [[0, 1, 2]], *table, name="Table")
        ball = Sphere((9.0, 9.0, 9.0), 1.0, name="Ball")
        return FrictionPairs(Scene(bodies, colliders=[ball, mesh], contact=Contact(**contact)))

    return make


def test_objects_without_friction_of_their_own_have_the_contacts(make_pairs) -> None:
    pairs = make_pairs(friction=0.7, kinetic_friction=0.3)
    np.testing.assert_array_equal(pairs.static, np.full((3, 3), 0.7))
    np.testing.assert_array_equal(pairs.kinetic, np.full((3, 3), 0.3))
    assert pairs.is_uniform


def test_without_a_kinetic_coefficient_things_slide_with_the_static_one(make_pairs) -> None:
    pairs = make_pairs(friction=0.7)
    np.testing.assert_array_equal(pairs.kinetic, pairs.static)


def test_two_objects_have_the_geometric_mean_of_theirs(make_pairs) -> None:
    pairs = make_pairs((0.9, 0.4), (0.4, 0.1), friction=0.1, kinetic_friction=0.0)
    np.testing.assert_allclose(pairs.static, [[0.9, 0.6, 0.3], [0.6, 0.4, 0.2], [0.3, 0.2, 0.1]])
    np.testing.assert_allclose(pairs.kinetic, [[0.4, 0.2, 0.0], [0.2, 0.1, 0.0], [0.0, 0.0, 0.0]])
    assert not pairs.is_uniform


def test_an_object_with_static_friction_alone_slides_with_it(make_pairs) -> None:
    pairs = make_pairs((0.9, None), friction=0.5, kinetic_friction=0.2)
    assert pairs.kinetic[0, 0] == 0.9 and pairs.kinetic[1, 1] == 0.2


def test_kinetic_friction_alone_is_an_objects_own_and_never_above_the_static_one(
    make_pairs,
) -> None:
    pairs = make_pairs((None, 0.1), (None, 0.8), friction=0.5, kinetic_friction=0.3)
    np.testing.assert_array_equal(np.diag(pairs.static), [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(np.diag(pairs.kinetic), [0.1, 0.5, 0.3])


def test_equal_coefficients_are_uniform_whatever_their_root_rounds_to(make_pairs) -> None:
    values = np.random.default_rng(1).uniform(0.0, 2.0, 50)
    for value in values:
        assert make_pairs((value, None), friction=value).static[0, 1] == value


@pytest.mark.parametrize(("first", "second"), [("Jelly", "Table"), ("Table", "Jelly")])
def test_a_named_pair_overrides_both_ways_and_leaves_the_others(make_pairs, first, second) -> None:
    pairs = make_pairs(friction=0.5, pairs=[PairFriction(first, second, 1.2, 0.8)])
    expected = np.full((3, 3), 0.5)
    expected[[0, 2], [2, 0]] = 1.2
    np.testing.assert_array_equal(pairs.static, expected)
    np.testing.assert_array_equal(pairs.kinetic, np.where(expected == 1.2, 0.8, 0.5))
    assert not pairs.is_uniform


def test_a_pair_may_be_an_object_and_itself(make_pairs) -> None:
    pairs = make_pairs(pairs=[PairFriction("Rubber", "Rubber", 0.9)])
    assert pairs.static[1, 1] == pairs.kinetic[1, 1] == 0.9
    assert pairs.static[0, 1] == 0.5


def test_of_two_tables_of_the_same_name_a_pair_means_both(make_block) -> None:
    tables = [Collider(CORNERS, [[0, 1, 2]], name="Table") for _ in range(2)]
    contact = Contact(pairs=[PairFriction("Jelly", "Table", 0.1)])
    body = SoftBody(make_block(), name="Jelly")
    pairs = FrictionPairs(Scene([body], colliders=tables, contact=contact))
    np.testing.assert_array_equal(pairs.static[0], [0.5, 0.1, 0.1])


@pytest.mark.parametrize("unknown", ["Ball", "jelly", ""])
def test_a_name_that_is_not_there_is_refused_with_those_that_are(make_pairs, unknown) -> None:
    with pytest.raises(SceneError, match=r"'.*'.*: Jelly, Rubber, Table\.$"):
        make_pairs(pairs=[PairFriction("Jelly", unknown, 0.5)])
