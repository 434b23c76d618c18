# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from supple.core import (
    Absorber,
    Attachment,
    Channel,
    Contact,
    Ground,
    InstabilityError,
    Plasticity,
    Release,
    RestShape,
    Scene,
    SceneError,
    SoftBody,
    Sphere,
    Stitches,
)
from supple.core.adjoint import settle, simulate
from supple.core.integrators import (
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.materials import Linear, StableNeoHookean
from supple.tests.core.tether import Tether
from supple.verification.meshes import block

CUBE = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.2))
GROWN = RestShape(0.1 * CUBE.vertices[None], Channel([[0.0], [1.0]]))


def tensor(value: Any = 1e4) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def body(**members: Any) -> SoftBody:
    return SoftBody(CUBE, StableNeoHookean(tensor()), **members)


def attached(**members: Any) -> Scene:
    return Scene([body(), body()], attachments=[Attachment(0, [0], 1, **members)])


@pytest.mark.parametrize(
    ("scene", "what"),
    [
        (lambda: Scene([body()], contact=Contact(formulation="original")), "method Original"),
        (lambda: Scene([body()], contact=Contact(friction_updates=1)), "friction passes"),
        (lambda: Scene([body()], colliders=[Sphere((0, 0, -1), 0.1)]), "sphere colliders"),
        (lambda: attached(release=Release(frame=2)), "attachments that let go"),
        (lambda: Scene([body()], ground=Ground(response="projection")), "a bouncy ground"),
        (
            lambda: Scene([body(plasticity=Plasticity(10.0), stiffness=Channel([1.0, 2.0]))]),
            "plasticity whose",
        ),
        (
            lambda: Scene([body(rest_shape=GROWN, stiffness=Channel([1.0, 2.0]))]),
            "a rest shape and a stiffness that both change",
        ),
        (
            lambda: Scene([SoftBody(CUBE, Linear(tensor()), rest_shape=GROWN)]),
            "a rest shape that changes, of the linear",
        ),
        (lambda: Scene([body(pose=CUBE.vertices)]), "a rest shape that follows a pose"),
        (lambda: Scene([body(pinned=[0], release=Release(frame=2))]), "releases"),
        (lambda: Scene([body()], forces=[Tether(vertex=3, stiffness=2e3)]), "through the force "),
        (lambda: Scene([body(), body()], forces=[Stitches(0, [0], 1)]), "through a stitch; leave"),
    ],
)
def test_what_has_no_derivative_is_refused_by_name(scene: Any, what: str) -> None:
    with pytest.raises(SceneError, match=what):
        simulate(scene(), frames=1)


@pytest.mark.parametrize("integrator", [XPBD(), Adaptive(), Automatic()])
def test_other_integrators_are_refused(integrator: Any) -> None:
    with pytest.raises(SceneError, match=f"through {type(integrator).__name__}; choose one of Imp"):
        simulate(Scene([body()]), integrator, frames=1)


def test_attachments_are_for_implicit_steps() -> None:
    with pytest.raises(SceneError, match="attachments in explicit steps; choose ImplicitEuler"):
        simulate(attached(), SymplecticEuler(), frames=1)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), Midpoint(), RungeKutta4()])
def test_contact_between_surfaces_is_for_implicit_steps(integrator: Any) -> None:
    with pytest.raises(SceneError, match="contact between surfaces in explicit steps; choose Impl"):
        simulate(Scene([body(), body()], contact=Contact()), integrator, frames=1)


def test_a_tensor_where_nothing_can_be_differentiated_by_is_refused() -> None:
    scene = Scene([SoftBody(CUBE, volume_stiffness=tensor(10.0))])
    with pytest.raises(
        SceneError, match=r"bodies\[0\].volume_stiffness .* nothing can be differentiated"
    ):
        simulate(scene, frames=1)


def test_what_of_a_field_is_absorbed_is_no_parameter() -> None:
    wall = Absorber(Channel.constant(np.eye(3)), np.array([[0, 1, 2]]), tensor(0.5))
    with pytest.raises(SceneError, match=r"absorbers\[0\].absorption .* nothing can be"):
        simulate(Scene([body()], absorbers=[wall]), frames=1)


def test_a_damping_that_is_not_there_is_no_silent_zero() -> None:
    with pytest.raises(SceneError, match=r"Start bodies\[0\].viscosity above 0"):
        simulate(Scene([SoftBody(CUBE, viscosity=tensor(0.0))]), frames=1)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"material": StableNeoHookean(tensor(1e4), 0.3)}, "material.young"),
        ({"density": tensor(900.0)}, "density"),
        ({"viscosity": tensor(3.0)}, "viscosity"),
    ],
)
def test_a_tensor_that_would_change_what_a_loss_factor_stands_for_is_refused(
    settings: dict[str, Any], place: str
) -> None:
    scene = Scene([SoftBody(CUBE, loss_factor=0.1, **settings)])
    with pytest.raises(SceneError, match=rf"by bodies\[0\].{place} through a loss factor"):
        simulate(scene, frames=1)


def test_other_gradients_go_through_the_viscosity_of_a_loss_factor() -> None:
    """The velocity at the start, beside differences of two runs."""

    def end(speed: torch.Tensor) -> torch.Tensor:
        velocity = torch.stack([0.0 * speed, 0.0 * speed, speed])
        falling = SoftBody(CUBE, loss_factor=0.2, pinned=[0, 1], velocity=velocity)
        return simulate(Scene([falling]), ImplicitEuler(1e-10), frames=3)[-1].positions[0][-1, 2]

    speed = tensor(0.3)
    end(speed).backward()
    difference = (end(tensor(0.301)) - end(tensor(0.299))).item() / 0.002
    assert float(speed.grad) == pytest.approx(difference, rel=1e-4)


def test_friction_without_a_ground_is_no_silent_zero() -> None:
    with pytest.raises(SceneError, match=r"bodies\[0\].friction requires grad, .* no ground"):
        simulate(Scene([SoftBody(CUBE, friction=tensor(0.5))]), frames=1)


def test_an_equilibrium_that_friction_holds_is_refused() -> None:
    under = SoftBody(block((1, 1, 1), (0.4, 0.4, 0.1), (-0.15, -0.15, 0.0)), pinned=range(4))
    for scene in (
        Scene([body()], ground=Ground(friction=0.3)),
        Scene([body(), under], contact=Contact(friction=0.3)),
    ):
        frame = settle(scene)
        with pytest.raises(InstabilityError, match="with frictional contact"):
            frame.positions[0].sum().backward()


def test_friction_of_what_nothing_touches_is_no_hindrance() -> None:
    members = {"ground": Ground(-0.5, friction=0.3), "contact": Contact(friction=0.3)}
    young = tensor()
    held = SoftBody(CUBE, StableNeoHookean(young), pinned=CUBE.surface[0])
    settle(Scene([held], **members)).positions[0].square().sum().backward()
    assert young.grad is not None and young.grad != 0.0


def test_a_body_that_begins_in_the_ground_has_no_gradient_by_its_height() -> None:
    scene = Scene([SoftBody(CUBE)], ground=Ground(tensor(0.2)))
    with pytest.raises(SceneError, match="starts inside the ground"):
        simulate(scene, ImplicitEuler(), frames=1)


def test_without_a_tensor_anything_can_be_simulated() -> None:
    scene = Scene([SoftBody(CUBE, pressure=10.0)], ground=Ground(response="projection"))
    assert not simulate(scene, SymplecticEuler(), frames=1)[0].positions[0].requires_grad


def test_pins_that_jump_are_refused_with_the_frame() -> None:
    pins = np.arange(4)
    path = (
        CUBE.vertices[pins]
        + np.array([0.0, 0.0, 1.0]) * np.array([0, 0, 0, 0, 0, 0, 5, 5, 5, 5])[:, None, None]
    )
    jumping = body(pinned=pins, pin_path=path)
    with pytest.raises(SceneError, match="through the jump of its pins at frame 6"):
        simulate(Scene([jumping]), frames=2)
