# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients through contact between surfaces, colliders and attachments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from supple.core import (
    Attachment,
    Collider,
    Contact,
    ContactSurface,
    Frame,
    InstabilityError,
    PairFriction,
    Scene,
    SceneError,
    SoftBody,
    SurfacePaint,
    TetMesh,
)
from supple.core.adjoint import settle, simulate
from supple.core.integrators import BDF2, SDIRK2, ImplicitEuler, Integrator
from supple.core.materials import StableNeoHookean
from supple.tests.core.adjoint.central_differences import Comparison, Values
from supple.verification.meshes import block

LOWER = block((1, 1, 1), (0.1, 0.1, 0.1))
SMALL = block((1, 1, 1), (0.08, 0.08, 0.08))
TURN = np.array([[0.955, -0.294, 0.031], [0.294, 0.951, -0.095], [-0.002, 0.1, 0.995]])
UPPER = TetMesh((SMALL.vertices - 0.04) @ TURN.T + [0.055, 0.048, 0.1475], SMALL.tets)


@pytest.fixture(autouse=True)
def normal_forces_of_the_end(monkeypatch: Any) -> None:
    """Iterate the normal forces of friction to the end; by default they may be a few hundredths
    off."""
    monkeypatch.setattr("supple.core.minimizers.lagged_update.LAG_CHANGE_RATIO", 1e-9)


def all_of(frames: list[Frame]) -> list[torch.Tensor]:
    parts = [(x, 0.1 * v) for f in frames for x, v in zip(f.positions, f.velocities, strict=True)]
    return [part for pair in parts for part in pair]


CUBES: Values = {
    "young": 2e4,
    "other": np.full(len(UPPER.tets), 3e4),
    "density": 1000.0,
    "velocity": (0.2, 0.1, -0.6),
    "lower": LOWER.vertices,
    "upper": UPPER.vertices,
    "distance": 0.004,
}


def _painted(mesh: TetMesh) -> SurfacePaint:
    """More friction to the right and to the back."""
    x, y, _ = mesh.vertices.T
    return SurfacePaint(mesh.vertices, mesh.surface, 0.2 + 8.0 * x.clip(0.0) + 4.0 * y.clip(0.0))


def cubes(
    given: Values,
    formulation: Any = "convergent",
    holds: bool = False,
    paint: bool = False,
    **members: Any,
) -> Scene:
    """The upper one hits the lower one with an edge, or rests on it held by pins."""
    painted = [_painted(mesh) if paint else None for mesh in (LOWER, UPPER)]
    own, contact = CUBES | given, {"friction": 0.0} | members
    bottom = np.flatnonzero(LOWER.vertices[:, 2] < 0.01) if holds else None
    top = np.flatnonzero(UPPER.vertices[:, 2] > 0.17) if holds else None
    lower = SoftBody(
        LOWER,
        StableNeoHookean(own["young"]),
        density=own["density"],
        initial_positions=own["lower"],
        friction=own.get("friction"),
        kinetic_friction=own.get("kinetic_friction"),
        friction_paint=painted[0],
        pinned=bottom,
    )
    upper = SoftBody(
        UPPER,
        StableNeoHookean(own["other"]),
        velocity=own["velocity"],
        initial_positions=own["upper"],
        friction=own.get("own friction"),
        friction_paint=painted[1],
        pinned=top,
    )
    contact |= {"distance": own["distance"], "stiffness": own.get("stiffness")}
    gravity = (0.0, 0.0, -9.81 * holds)
    return Scene(
        [lower, upper], gravity=gravity, contact=Contact(formulation=formulation, **contact)
    )


@pytest.mark.parametrize("integrator", [ImplicitEuler(1e-10), BDF2(1e-10), SDIRK2(1e-10)])
def test_cubes_that_collide(integrator: Integrator) -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        return all_of(simulate(cubes(given), integrator, frames=1, substeps=3))

    Comparison(outcome, CUBES).check()


def test_pairs_that_are_added_up_with_a_stiffness_of_their_own() -> None:
    values = CUBES | {"stiffness": 1e9}

    def outcome(given: Values) -> list[torch.Tensor]:
        scene = cubes(given, "original")
        return all_of(simulate(scene, ImplicitEuler(1e-10), frames=1, substeps=3))

    Comparison(outcome, values).check("stiffness", "velocity")


ROUGH = CUBES | {"friction": 0.4, "own friction": 0.3, "kinetic_friction": 0.2, "stiffness": 3e3}


def rubbed(given: Values) -> list[torch.Tensor]:
    return all_of(simulate(cubes(given), ImplicitEuler(1e-10), frames=1, substeps=3))


def test_cubes_that_slide_over_each_other() -> None:
    Comparison(rubbed, ROUGH).check(idle=("friction",))


def test_cubes_that_slide_over_paint() -> None:
    """The factor of the paint on friction depends on the closest points."""

    def outcome(given: Values) -> list[torch.Tensor]:
        scene = cubes(given, paint=True)
        return all_of(simulate(scene, ImplicitEuler(1e-10), frames=1, substeps=3))

    Comparison(outcome, ROUGH).check(idle=("friction",))


def test_normal_forces_that_lag_cost_little(monkeypatch: Any) -> None:
    monkeypatch.setattr("supple.core.minimizers.lagged_update.LAG_CHANGE_RATIO", 0.03)
    Comparison(rubbed, ROUGH).check(*CUBES, "stiffness", rel=5e-3)


TABLE = np.array([[-0.4, -0.3, -0.0012], [0.4, -0.35, -0.0012], [0.02, 0.5, -0.0012]])
#: That moves on and tilts.
MOVED = np.array([[0.03, 0.0, 0.004], [0.03, 0.01, 0.0], [0.03, 0.0, -0.004]])
TILTING = np.stack([TABLE, TABLE + MOVED])
SLIDING: Values = {
    "young": 2e4,
    "velocity": (0.3, 0.1, -0.2),
    "friction": 0.2,
    "positions": LOWER.vertices,
    "gravity": (0.0, 0.0, -9.81),
    "distance": 0.003,
}


@pytest.mark.parametrize(
    ("path", "around"), [(TABLE, False), (TILTING, True)], ids=["fixed", "moving and embedded"]
)
def test_a_cube_that_slides_on_a_collider(path: Any, around: bool) -> None:
    leaning = LOWER.vertices + 0.1 * LOWER.vertices[:, [1]] * [1.0, 0.0, 0.0]
    surface = ContactSurface(leaning, LOWER.surface) if around else None

    def outcome(given: Values) -> list[torch.Tensor]:
        own = SLIDING | given
        body = SoftBody(
            LOWER,
            StableNeoHookean(own["young"]),
            velocity=own["velocity"],
            initial_positions=own["positions"],
            contact_surface=surface,
        )
        table = Collider(path, [[0, 1, 2]], friction=own["friction"])
        contact = Contact(distance=own["distance"])
        scene = Scene([body], gravity=own["gravity"], colliders=[table], contact=contact)
        return all_of(simulate(scene, ImplicitEuler(1e-10), frames=1, substeps=3))

    Comparison(outcome, SLIDING).check()


def test_prongs_that_close() -> None:
    """A body that touches itself, by pins that move."""
    whole = block((5, 1, 2), (0.1, 0.02, 0.04))
    centres = whole.vertices[whole.tets].mean(axis=1)
    fork = whole.tets[(abs(centres[:, 0] - 0.05) > 0.01) | (centres[:, 2] < 0.02)]
    used, tets = np.unique(fork, return_inverse=True)
    mesh = TetMesh(whole.vertices[used], tets.reshape(-1, 4))
    pinned = np.flatnonzero(mesh.vertices[:, 0] < 0.05)
    path = mesh.vertices[pinned] + np.array([0.017, 0.0, 0.0]) * (
        np.arange(2)[:, None, None] * (mesh.vertices[pinned, 2:] > 0.03)
    )
    values: Values = {"young": 1e4, "path": path, "distance": 0.004}

    def outcome(given: Values) -> list[torch.Tensor]:
        own = values | given
        body = SoftBody(mesh, StableNeoHookean(own["young"]), pinned=pinned, pin_path=own["path"])
        contact = Contact(distance=own["distance"], friction=0.0)
        scene = Scene([body], gravity=(0.0, 0.0, 0.0), contact=contact)
        frames = simulate(scene, ImplicitEuler(1e-10), frames=1, substeps=4)
        assert frames[-1].report.solver_statistics.contacts > 0
        return all_of(frames)

    comparison = Comparison(outcome, values)
    comparison.check("young")
    comparison.check("path", "distance")


def test_an_equilibrium_of_what_rests_on_another() -> None:
    own: Values = {"young": 2e4, "other": 4e3, "density": 1500.0, "distance": 0.004}

    def outcome(given: Values) -> list[torch.Tensor]:
        return all_of([settle(cubes(own | given, holds=True))])[::2]

    Comparison(outcome, own).check()


JOINED: Values = {
    "young": 2e4,
    "other": CUBES["other"],
    "density": 1000.0,
    "velocity": (0.2, 0.1, -0.6),
    "gravity": (0.0, 1.0, -9.81),
}


def joined(given: Values) -> Scene:
    """Two corners of the upper cube are held by the lower one."""
    own = JOINED | given
    lower = SoftBody(LOWER, StableNeoHookean(own["young"]), density=own["density"])
    upper = SoftBody(
        TetMesh(UPPER.vertices - [0.0, 0.0, 0.01], UPPER.tets),
        StableNeoHookean(own["other"]),
        velocity=own["velocity"],
    )
    attachment = Attachment(1, UPPER.vertices[:, 2].argsort()[:2], 0)
    return Scene([lower, upper], gravity=own["gravity"], attachments=[attachment])


def test_bodies_that_are_attached() -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        return all_of(simulate(joined(given), BDF2(1e-10), frames=1, substeps=4))

    Comparison(outcome, JOINED).check()


def test_a_body_that_a_moving_collider_carries() -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        own = JOINED | given
        body = SoftBody(LOWER, StableNeoHookean(own["young"]), density=own["density"])
        scene = Scene(
            [body],
            gravity=own["gravity"],
            colliders=[Collider(TILTING, [[0, 1, 2]])],
            attachments=[Attachment(0, [0, 1], 0, to="collider")],
        )
        return all_of(simulate(scene, ImplicitEuler(1e-10), frames=1, substeps=2))

    names = ("young", "density", "gravity")
    Comparison(outcome, {name: JOINED[name] for name in names}).check()


def test_where_an_attachment_holds_is_no_parameter() -> None:
    scene = joined({})
    scene.bodies[0] = SoftBody(
        LOWER, initial_positions=torch.tensor(LOWER.vertices).requires_grad_()
    )
    with pytest.raises(SceneError, match="initial_positions of a body with attachments"):
        simulate(scene, frames=1)


def test_the_coefficients_of_a_pair_take_the_place_of_its_own() -> None:
    """The gradient with respect to the body's coefficient is then zero."""
    friction = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    pair = PairFriction("Soft body", "Soft body", 0.3)
    scene = cubes({"friction": friction, "own friction": 0.3}, friction=0.5, pairs=[pair])
    frame = simulate(scene, frames=1, substeps=2)[0]
    frame.positions[0].square().sum().backward()
    assert friction.grad is not None and friction.grad == 0.0


def test_what_has_been_in_the_way_of_pins_gives_no_gradient(monkeypatch: Any) -> None:
    """The pins of the upper cube would go through the lower one."""
    monkeypatch.setattr("supple.core.minimizers.prescribed_motion.STALL_LIMIT_STEPS", 1)
    monkeypatch.setattr("supple.core.minimizers.prescribed_motion.MAX_RELAXATION_ITERATIONS", 2)
    young = torch.tensor(2e4, dtype=torch.float64, requires_grad=True)
    top = np.flatnonzero(UPPER.vertices[:, 2] > 0.17)
    path = UPPER.vertices[top] + np.array([0.0, 0.0, -0.2]) * np.arange(6)[:, None, None]
    lower = SoftBody(LOWER, StableNeoHookean(young), pinned=np.arange(4))
    upper = SoftBody(UPPER, pinned=top, pin_path=path)
    frame = simulate(Scene([lower, upper], contact=Contact()), frames=1, substeps=1)[0]
    with pytest.raises(InstabilityError, match="was blocked"):
        frame.positions[0].square().sum().backward()
