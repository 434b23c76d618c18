# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients through surfaces that meet in explicit steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from supple.core import (
    Collider,
    Contact,
    ContactSurface,
    Frame,
    Ground,
    InstabilityError,
    Scene,
    SoftBody,
    TetMesh,
)
from supple.core.adjoint import simulate
from supple.core.adjoint.contact_adjoint import ContactAdjoint
from supple.core.geometry.embedding import embed
from supple.core.integrators import (
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.kernels.continuous_collision import stencil
from supple.core.kernels.pair_weights import pair_weight, within_step
from supple.core.materials import StableNeoHookean
from supple.core.math3.closest_points import closest_points
from supple.core.math3.vectors import four_points
from supple.tests.core.adjoint.central_differences import Comparison, Values
from supple.tests.core.adjoint.test_contact import (
    CUBES,
    LOWER,
    ROUGH,
    SLIDING,
    TABLE,
    TILTING,
    all_of,
    cubes,
)
from supple.verification.meshes import block

OPTIONS: Values = {"frame_time": 0.02, "substeps": 20}
SCHEMES = [SymplecticEuler(), Midpoint(), RungeKutta4()]


def touched(frames: list[Frame]) -> list[torch.Tensor]:
    assert any(frame.report.solver_statistics.contacts for frame in frames)
    return all_of(frames)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda own: own.label)
def test_cubes_that_collide(scheme: Integrator) -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        return touched(simulate(cubes(given), scheme, frames=2, **OPTIONS))

    Comparison(outcome, CUBES).check(spread=1e-6)


def test_pairs_that_are_added_up_with_a_stiffness_of_their_own() -> None:
    values = CUBES | {"stiffness": 1e9}

    def outcome(given: Values) -> list[torch.Tensor]:
        scene = cubes(given, "original")
        return touched(simulate(scene, SymplecticEuler(), frames=2, **OPTIONS))

    Comparison(outcome, values).check("stiffness", "velocity", "distance", spread=1e-6)


def test_cubes_that_slide_over_each_other() -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        return touched(simulate(cubes(given), SymplecticEuler(), frames=2, **OPTIONS))

    names = (*CUBES, "stiffness", "own friction", "kinetic_friction")
    Comparison(outcome, ROUGH).check(*names, spread=1e-6)


def test_cubes_that_slide_over_paint() -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        scene = cubes(given, paint=True)
        return touched(simulate(scene, SymplecticEuler(), frames=2, **OPTIONS))

    names = (*CUBES, "stiffness", "own friction", "kinetic_friction")
    Comparison(outcome, ROUGH).check(*names, spread=1e-6)


def table_scene(own: Values, path: Any, around: bool, ground: bool, **members: Any) -> Scene:
    leaning = LOWER.vertices + 0.1 * LOWER.vertices[:, [1]] * [1.0, 0.0, 0.0]
    surface = ContactSurface(leaning, LOWER.surface) if around else None
    body = SoftBody(
        LOWER,
        StableNeoHookean(own["young"]),
        velocity=own["velocity"],
        initial_positions=own["positions"],
        contact_surface=surface,
        **members,
    )
    colliders = [] if ground else [Collider(path, [[0, 1, 2]], friction=own["friction"])]
    floor = Ground(own["height"], friction=own["friction"]) if ground else None
    contact = Contact(distance=own["distance"])
    return Scene([body], floor, gravity=own["gravity"], colliders=colliders, contact=contact)


@pytest.mark.parametrize(
    ("path", "around"), [(TABLE, False), (TILTING, True)], ids=["fixed", "moving and embedded"]
)
def test_a_cube_that_slides_on_a_collider(path: Any, around: bool) -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        scene = table_scene(SLIDING | given, path, around, False)
        return touched(simulate(scene, SymplecticEuler(), frames=1, **OPTIONS))

    Comparison(outcome, SLIDING).check(spread=1e-6)


GROUNDED = SLIDING | {"height": -0.0002, "damping": 0.3, "density": 900.0}


@pytest.mark.parametrize("is_seen", [False, True], ids=["vertices", "seen points"])
def test_a_cube_that_slides_on_the_ground_beside_contact(is_seen: bool) -> None:
    shape = 0.9 * LOWER.vertices + [0.004, 0.006, 0.0004]
    seen = ContactSurface(shape, LOWER.surface, embed(LOWER, shape)) if is_seen else None

    def outcome(given: Values) -> list[torch.Tensor]:
        own = GROUNDED | given
        members = {"density": own["density"], "damping": own["damping"], "seen_surface": seen}
        scene = table_scene(own, None, False, True, **members)
        return all_of(simulate(scene, RungeKutta4(), frames=2, **OPTIONS))

    values = {k: own for k, own in GROUNDED.items() if k != "distance"}
    Comparison(outcome, values).check(spread=1e-6)


def test_prongs_that_close() -> None:
    """A body that touches itself, by pins that move: faces meet, whose pairs count in part."""
    whole = block((5, 1, 2), (0.1, 0.02, 0.04))
    centres = whole.vertices[whole.tets].mean(axis=1)
    fork = whole.tets[(abs(centres[:, 0] - 0.05) > 0.01) | (centres[:, 2] < 0.02)]
    used, tets = np.unique(fork, return_inverse=True)
    vertices = whole.vertices[used]
    pinned = np.flatnonzero(vertices[:, 0] < 0.05)
    closes = np.arange(2)[:, None, None] * (vertices[pinned, 2:] > 0.03)
    vertices = vertices + 0.002 * np.random.default_rng(3).standard_normal(vertices.shape)
    mesh = TetMesh(vertices, tets.reshape(-1, 4))
    path = vertices[pinned] + np.array([0.017, 0.0, 0.0]) * closes
    values: Values = {"young": 1e4, "path": path, "distance": 0.003}

    def outcome(given: Values) -> list[torch.Tensor]:
        own = values | given
        body = SoftBody(mesh, StableNeoHookean(own["young"]), pinned=pinned, pin_path=own["path"])
        contact = Contact(distance=own["distance"], friction=0.0)
        scene = Scene([body], gravity=(0.0, 0.0, 0.0), contact=contact)
        return touched(simulate(scene, SymplecticEuler(), frames=1, substeps=60))

    Comparison(outcome, values).check(spread=1e-6)


def how_held(contact: ContactAdjoint, own: Any) -> Iterator[tuple[bool, bool]]:
    """Whether pairs count in whole as they would else meet within the step, and are made linear by
    the closest points of its end."""
    of_all = own.stencils, contact._surface.topology, contact._laws
    for k, pair in enumerate(own.pairs):
        *corners, are_edges = stencil(own.stencils, pair)
        x = four_points(own.points, *corners)
        closest = closest_points(are_edges, x)
        is_shared = pair_weight(*of_all, own.points, pair, x, closest)[1] > 0.0
        dhat = own.constraints.dhats[k]
        then, share = within_step(*of_all, dhat, own.ends, pair, x, closest)
        if is_shared or share > 0.0:
            yield not is_shared, not is_shared and then[0] != closest[0]


def test_edges_that_would_cross_within_a_step(monkeypatch: Any) -> None:
    """Pairs that count nothing at the start of a step, and are held back where they go."""
    lower, small = block((2, 2, 2), (0.1, 0.1, 0.1)), block((2, 2, 2), (0.08, 0.08, 0.08))
    random = np.random.default_rng(1)
    turned = (small.vertices - 0.04) @ Rotation.random(random_state=1).as_matrix().T
    aside = 0.05 + 0.03 * random.standard_normal(2)
    places = turned + np.array([*aside, 0.106 - turned[:, 2].min()])
    upper = TetMesh(places, small.tets)
    values: Values = {"young": 3e4, "velocity": (2.5, 1.8, -2.0), "places": places}
    back, held = ContactAdjoint.back, set[tuple[bool, bool]]()

    def noted(self: ContactAdjoint, meeting: Any, by_end: torch.Tensor) -> Any:
        held.update(how_held(self, meeting.relaxation))
        return back(self, meeting, by_end)

    def outcome(given: Values) -> list[torch.Tensor]:
        own = values | given
        solid = StableNeoHookean(own["young"])
        start = {"velocity": own["velocity"], "initial_positions": own["places"]}
        contact = Contact(distance=0.012, friction=0.2, stiffness=1000.0)
        scene = Scene([SoftBody(lower, solid), SoftBody(upper, solid, **start)], contact=contact)
        return all_of(simulate(scene, SymplecticEuler(), frames=1, frame_time=0.01, substeps=5))

    monkeypatch.setattr(ContactAdjoint, "back", noted)
    Comparison(outcome, values).check(spread=1e-6)
    assert held == {(False, False), (True, False), (True, True)}


def test_surfaces_that_stop_each_other_within_a_step_are_refused() -> None:
    scene = cubes({"young": torch.tensor(2e4, requires_grad=True), "velocity": (0.2, 0.1, -16.0)})
    with pytest.raises(InstabilityError, match="no gradients through frame 1, where surfaces come"):
        simulate(scene, SymplecticEuler(), frames=1, frame_time=0.004, substeps=4)


def test_tets_that_are_pressed_flat_are_refused() -> None:
    young = torch.tensor(2e4, dtype=torch.float64, requires_grad=True)
    scene = cubes({"young": young, "lower": LOWER.vertices * [1.0, 1.0, 0.23]})
    frames = simulate(scene, SymplecticEuler(), frames=1, **OPTIONS)
    with pytest.raises(InstabilityError, match="no gradients through tets that are pressed flat"):
        torch.autograd.backward(frames[-1].positions[0].sum())
