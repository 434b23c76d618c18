# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the choice among paths along a Newton step. In place of the ground, numbers shorten them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from supple.core import Collider, Contact, Ground, Scene
from supple.core.minimizers.incremental_potential import IncrementalPotential
from supple.core.minimizers.search_path import SearchPath
from supple.core.potentials import TimeStep
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.system import System
from supple.tests.core.balls import soft_ball
from supple.tests.core.potentials.contact.close_bodies import DART, TRIANGLE

STEP, REACH = 1.0 / 24.0, 0.05
Share = Callable[[float], float]


def _objective(contact: Contact | None) -> IncrementalPotential:
    """A ball two centimetres above the ground, which meets it as it is seen."""
    ball = soft_ball((0.0, 0.0, 0.52), resolution=3, subdivisions=2)
    tets, _ = tetrahedralize_scene(Scene([ball], Ground(distance=REACH), contact=contact))
    objective = IncrementalPotential(System(tets, torch.device("cpu"), torch.float64))
    rest = objective.system.rest_positions()
    objective.begin(TimeStep(rest, rest, STEP, STEP))
    objective.hessian(rest)
    return objective


def _sideways(objective: IncrementalPotential) -> torch.Tensor:
    direction = torch.zeros_like(objective.system.rest_positions())
    direction[0] = 1e-3
    return direction


def _found(contact: Contact | None, share: Share, monkeypatch: pytest.MonkeyPatch) -> SearchPath:
    """The path that ends after ``share`` of a step, as a function of the fraction."""
    objective = _objective(contact)
    rest, direction = objective.system.rest_positions(), _sideways(objective)
    monkeypatch.setattr(
        objective.paths, "curve", lambda start, way: lambda fraction: start + share(fraction) * way
    )
    return objective.paths.find(rest, direction, -direction)


def _length(path: SearchPath, size: float = 1.0) -> float:
    """The displacement of a step size, over that of the Newton step."""
    return float((path.at(size) - path.at(0.0))[0].mean()) / 1e-3


def test_a_projected_path_that_descends_by_a_tenth_of_the_step_is_taken(monkeypatch) -> None:
    assert _length(_found(None, lambda t: 0.11 * t, monkeypatch)) == pytest.approx(0.11)


def test_one_that_descends_less_is_left_for_the_step_itself(monkeypatch) -> None:
    assert _length(_found(None, lambda t: 0.09 * t, monkeypatch)) == pytest.approx(1.0)


def test_with_contact_too_a_tenth_is_enough(monkeypatch) -> None:
    assert _length(_found(Contact(), lambda t: 0.11 * t, monkeypatch)) == pytest.approx(0.11)


def test_with_contact_a_part_of_the_path_is_taken_that_descends_by_a_tenth_of_so_much(
    monkeypatch,
) -> None:
    path = _found(Contact(), lambda t: min(0.12 * t, 0.03), monkeypatch)
    assert _length(path) == pytest.approx(0.03)


def test_with_contact_the_least_part_of_the_step_is_taken_where_no_path_descends(
    monkeypatch,
) -> None:
    path = _found(Contact(), lambda t: 0.09 * t, monkeypatch)
    assert _length(path) == pytest.approx(0.25**5)


def test_the_path_of_points_in_tets_is_projected_where_the_ground_is_in_the_way_and_not_else() -> (
    None
):
    objective = _objective(None)
    rest, lifted = objective.system.rest_positions(), objective.system.rest_positions() + 1.0
    down = -50.0 * _sideways(objective).flip(0)
    assert torch.equal(objective.paths.curve(lifted, down)(1.0), lifted + down)
    ground = objective.system.ground_barrier
    assert ground is not None
    lowest = [
        float(ground.points.gather(ends[2]).min())
        for ends in (rest + down, objective.paths.curve(rest, down)(1.0))
    ]
    assert lowest[0] < 0.0 < lowest[1] < 0.02


@pytest.mark.parametrize(("fall", "reached"), [(0.45, 2.0), (0.55, 1.0), (1e-2, 64.0)])
def test_beside_others_a_path_reaches_as_far_as_nothing_collides(fall, reached) -> None:
    # The lowest corner is a metre above a triangle.
    scene = Scene([DART], colliders=[Collider(TRIANGLE, [[0, 1, 2]])], contact=Contact())
    objective = IncrementalPotential(System(scene, torch.device("cpu"), torch.float64))
    rest = objective.system.rest_positions()
    objective.begin(TimeStep(rest, rest, STEP, STEP))
    direction = torch.zeros_like(rest)
    direction[2] = -fall
    path = objective.paths.find(rest, direction, -direction)
    assert path.max_step_size == 1.0
    assert [size for size in (2.0, 4.0, 64.0, 128.0) if path.reaches(size)] == [
        size for size in (2.0, 4.0, 64.0) if size <= reached
    ]
