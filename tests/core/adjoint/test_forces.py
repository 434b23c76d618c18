# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients through what acts beside elasticity and gravity, and by its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from supple.core import (
    Absorber,
    Channel,
    Falloff,
    Fluid,
    ForceField,
    Goals,
    Ground,
    Scene,
    SoftBody,
    VelocityGrid,
    Wind,
)
from supple.core.adjoint import settle, simulate
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.tests.core.adjoint.central_differences import (
    MESH,
    PINNED,
    STEPS,
    Comparison,
    Values,
    compared,
    outcome_of,
)
from supple.verification.meshes import block

VALUES: Values = {
    "young": 2e4,
    "density": 1000.0,
    "velocity": (0.5, 0.2, -0.3),
    "initial_positions": MESH.vertices
    + 0.004 * np.random.default_rng(0).standard_normal(MESH.vertices.shape),
    "pressure": (300.0, 900.0),
    "target_volume": (1.0, 1.2, 1.1),
    "drag": (2.0, 3.0),
    "stiffness": (1.0, 1.4),
    "frequency": 3.0,
    "weights": (0.9, 0.4),
    "wind": ((3.0, 1.0, 0.5), (1.0, 2.0, 0.0)),
    "wind drag": 1.5,
    "strength": (4.0, 6.0),
    "origin": (0.3, -0.2, 0.35),
    "flow strength": 1.5,
    "flow": 0.7,
    "noise strength": 5.0,
    "noise size": 0.4,
}
#: The body is within one of its cells' centres: in between velocities have a kink.
STREAM = VelocityGrid(
    np.random.default_rng(5).normal(size=(3, 2, 2, 2, 3)),
    np.concatenate([np.eye(3), [[-1.0], [-1.0], [-0.6]]], axis=1),
    speed=2.0,
    density=np.random.default_rng(6).uniform(0.5, 1.0, size=(3, 2, 2, 2)),
)


def driven(given: Values) -> Scene:
    own = VALUES | given
    names = ("density", "velocity", "initial_positions", "pressure", "target_volume", "drag")
    body = SoftBody(
        MESH,
        StableNeoHookean(own["young"], 0.4),
        pinned=PINNED,
        goals=Goals([0, 3], MESH.vertices[[0, 3]] + 0.02, own["weights"], own["frequency"], 0.3),
        stiffness_damping=0.003,
        viscosity=2.0,
        volume_stiffness=5e3,
        field_weight=0.8,
        **{name: own[name] for name in (*names, "stiffness")},
    )
    fields = [
        ForceField("force", own["strength"], own["origin"], falloff=Falloff(power=1.5), flow=0.4),
        ForceField("vortex", 3.0, (0.3, 0.1, 0.2), (0.1, 0.2, 1.0), "plane"),
        ForceField("magnetic", 2.0, (0.2, 0.1, 0.0)),
        ForceField("drag", 0.3, damping=0.4),
        ForceField("fluid_flow", own["flow strength"], flow=own["flow"], grid=STREAM),
        ForceField("turbulence", own["noise strength"], (0.1, 0.2, 0.3), size=own["noise size"]),
    ]
    return Scene([body], forces=[Wind(own["wind"], own["wind drag"]), *fields])


@pytest.mark.parametrize("steps", STEPS)
def test_gradients_are_those_of_central_differences(steps: str) -> None:
    compared(driven, STEPS[steps], VALUES).check()


def test_gradients_of_an_equilibrium_with_gas_and_wind() -> None:
    names = ("young", "pressure", "target_volume", "stiffness", "frequency", "weights", "wind")

    def outcome(given: Values) -> list[torch.Tensor]:
        scene = driven(given)
        scene.forces = scene.forces[:1]
        return [settle(scene).positions[0]]

    Comparison(outcome, {name: VALUES[name] for name in names}).check()


FLOATING: Values = {
    "young": 2e4,
    "density": 700.0,
    "velocity": (0.5, 0.2, -0.8),
    "gravity": (0.0, 0.0, -9.81),
    "initial_positions": VALUES["initial_positions"],
}


@pytest.mark.parametrize("steps", STEPS)
def test_gradients_go_through_a_fluid(steps: str) -> None:
    def floating(given: Values) -> Scene:
        names = ("density", "velocity", "initial_positions")
        body = SoftBody(
            MESH, StableNeoHookean(given["young"]), **{name: given[name] for name in names}
        )
        fluid = Fluid(level=0.41, drag=2.0, damping=1.0)
        return Scene([body], gravity=given["gravity"], forces=[Wind((1.0, 0.0, 0.0)), fluid])

    compared(floating, STEPS[steps], FLOATING).check()


def test_gas_that_keeps_its_volume_lands_with_friction() -> None:
    """Friction makes the derivative unsymmetric, and gas makes it dense."""
    cube = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.003))

    def outcome(given: Values) -> list[torch.Tensor]:
        body = SoftBody(
            *(cube, StableNeoHookean(2e4)),
            velocity=(0.9, 0.1, -0.5),
            target_volume=given["target_volume"],
            volume_stiffness=5e4,
        )
        scene = Scene([body], ground=Ground(friction=0.25, distance=0.002))
        return outcome_of(simulate(scene, ImplicitEuler(1e-9), frames=1, substeps=6))

    Comparison(outcome, {"target_volume": 1.1}).check(rel=1e-4)


def test_an_equilibrium_in_force_fields_has_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields that turn and that push apart, whose derivative is not symmetric."""
    monkeypatch.setattr("supple.core.minimizers.equilibrium.TOLERANCE_M_PER_S2", 1e-11)
    names = ("young", "density", "pressure", "strength", "origin", "wind")
    own = {name: VALUES[name] for name in names}
    Comparison(lambda v: [settle(driven(v)).positions[0]], own).check()


SHADED: Values = {name: VALUES[name] for name in ("young", "velocity", "initial_positions")} | {
    "strength": 30.0,
    "origin": (0.05, 0.04, -0.5),
    "size": 0.4,
}
#: Half the body is behind it at first, all of it after a frame, nothing after two.
WALL = Absorber(
    np.array([[[-2.0, -2, 0.1], [e, -2, 0.1], [e, 2, 0.1], [-2, 2, 0.1]] for e in (0.05, 2, -1)]),
    np.array([[0, 1, 2], [0, 2, 3]]),
    0.7,
)


def shaded(given: Values) -> Scene:
    names = ("velocity", "initial_positions")
    body = SoftBody(
        MESH,
        StableNeoHookean(given["young"]),
        pinned=PINNED,
        **{name: given[name] for name in names},
    )
    own: Values = {"origin": given["origin"], "flow": 0.6, "is_absorbed": True}
    fields = [
        ForceField("force", given["strength"], falloff=Falloff(power=1.5), **own),
        ForceField("turbulence", 6.0, size=given["size"], **own),
    ]
    return Scene([body], gravity=(0.0, 0.0, 0.0), forces=fields, absorbers=[WALL])


@pytest.mark.parametrize("steps", ["implicit Euler", "BDF2", "symplectic Euler"])
def test_gradients_go_past_what_absorbs_fields(steps: str) -> None:
    """The absorbed share is constant from the beginning of each frame."""
    compared(shaded, STEPS[steps], SHADED, frames=3).check()


def test_gradients_of_an_equilibrium_behind_a_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supple.core.minimizers.equilibrium.TOLERANCE_M_PER_S2", 1e-11)
    names = ("young", "strength", "origin", "size")

    def outcome(given: Values) -> list[torch.Tensor]:
        return [settle(shaded(SHADED | given)).positions[0]]

    Comparison(outcome, {name: SHADED[name] for name in names}).check()


def test_a_channel_of_numbers_may_stand_beside_a_tensor() -> None:
    drag: Any = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    body = SoftBody(MESH, StableNeoHookean(2e4))
    scene = Scene([body], forces=[Wind(Channel([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), drag)])
    simulate(scene, frames=1)[-1].velocities[0][:, 0].mean().backward()
    # After a step at the wind of its end: h d w / (1 + h d), by d.
    h = 1.0 / 24.0
    assert drag.grad is not None
    assert drag.grad.item() == pytest.approx(h * 2.0 / (1.0 + h) ** 2)
