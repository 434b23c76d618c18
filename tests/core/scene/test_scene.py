# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import Channel, Ground, Scene, SceneError, Simulator, SoftBody, Sphere
from supple.core.integrators import SymplecticEuler
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block

SETTINGS = ["damping", "stiffness_damping", "viscosity"]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("value", [-1e-9, math.inf, -math.inf, math.nan])
def test_damping_that_is_negative_or_not_finite_is_refused_by_name(
    make_block, setting: str, value: float
) -> None:
    with pytest.raises(SceneError, match=rf"^Jelly: the .+ must be 0 .*or more.* not {value:g}"):
        SoftBody(make_block(), name="Jelly", **{setting: value})


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_damping_is_fine(make_block, setting: str) -> None:
    assert getattr(SoftBody(make_block(), **{setting: 0.0}), setting) == 0.0


def test_stiffness_damping_and_viscosity_have_to_be_asked_for(make_block) -> None:
    body = SoftBody(make_block())
    assert (body.stiffness_damping, body.viscosity) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"bodies": [None]}, "Each of the bodies .* must be of the kind SoftBody, and one is None"),
        ({"colliders": [Ground()]}, "kind Sphere or Collider, and one is of the kind Ground"),
        ({"colliders": [None]}, "kind Sphere or Collider, and one is None"),
        ({"colliders": Ground()}, "a list of Sphere or Collider, and is of the kind Ground"),
        ({"absorbers": ["Wall"]}, "of the kind Absorber, and one is of the kind str"),
        ({"ground": True}, "must be of the kind Ground, or None, and is of the kind bool"),
        ({"contact": True}, "contact of a scene must be of the kind Contact, or None, and is of"),
    ],
)
def test_objects_of_another_kind_are_refused(make_block, members: dict, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Scene(**{"bodies": [SoftBody(make_block())], **members})


def test_a_body_that_is_not_in_a_list_is_refused(make_block) -> None:
    with pytest.raises(SceneError, match="must be a list of SoftBody, and is of the kind SoftBody"):
        Scene(SoftBody(make_block()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"touching": "tetrahedron"}, "Jelly: .* automatic, mesh, tetrahedra, not 'tetrahedron'"),
        ({"pin_path": np.zeros((3, 2, 3))}, "Jelly: the pin path moves nothing"),
    ],
)
def test_what_a_body_could_only_ignore_is_refused(make_block, settings, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        SoftBody(make_block(), name="Jelly", **settings)


def test_factors_within_frames_are_refused_by_frame(make_block) -> None:
    factors = Channel(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), per_frame=4)
    with pytest.raises(SceneError, match=r"above 0 at every frame, and is 0 at frame 1\.25"):
        SoftBody(make_block(), stiffness=factors)


NOWHERE = (0.0, 0.0, 0.0)


def started(body: SoftBody, integrator=None) -> Simulator:
    return Simulator(Scene([body], gravity=NOWHERE), integrator, device="cpu")


def test_a_body_starts_with_its_velocity_and_spin_about_its_centre() -> None:
    """v + ω × (x − c): about z, what is ahead along x goes along y."""
    mesh = block((1, 1, 1), (2.0, 2.0, 2.0), (4.0, 0.0, 0.0))
    body = SoftBody(mesh, velocity=(1.0, 0.0, 0.5), angular_velocity=(0.0, 0.0, 3.0))
    velocities = started(body).frame().velocities[0].numpy()
    arms = mesh.vertices - (5.0, 1.0, 1.0)
    expected = np.stack([1.0 - 3.0 * arms[:, 1], 3.0 * arms[:, 0], 0.5 + 0.0 * arms[:, 0]], axis=1)
    np.testing.assert_allclose(velocities, expected, atol=1e-12)


def test_spin_is_about_the_centre_of_mass_of_the_shape_it_starts_in() -> None:
    mesh = block((2, 1, 1))
    moved = mesh.vertices * (2.0, 1.0, 1.0) + (0.0, 0.0, 7.0)
    body = SoftBody(mesh, angular_velocity=(1.0, 2.0, 3.0), initial_positions=moved)
    run = started(body)
    momentum = (run.system.mass * run.state.velocities).sum(1)
    torch.testing.assert_close(momentum, torch.zeros_like(momentum), rtol=0.0, atol=1e-9)


def test_a_body_that_spins_goes_on_turning() -> None:
    """About the diagonal that its tets share, an axis of its inertia."""
    mesh, axis = block((1, 1, 1)), np.ones(3) / math.sqrt(3.0)
    stiff, spin = StableNeoHookean(1e7, 0.3), tuple(2.0 * axis)
    *_, last = started(SoftBody(mesh, stiff, angular_velocity=spin), SymplecticEuler()).run(24)
    before, after = (x[1] - x.mean(axis=0) for x in (mesh.vertices, last.positions[0].numpy()))
    across = [arm - axis * (axis @ arm) for arm in (before, after)]
    turned = math.atan2(axis @ np.cross(*across), across[0] @ across[1])
    assert turned == pytest.approx(2.0, abs=0.02)


def test_pinned_vertices_do_not_spin() -> None:
    body = SoftBody(block((1, 1, 1)), angular_velocity=(0.0, 0.0, 2.0), pinned=np.array([0, 7]))
    speeds = started(body).frame().velocities[0].norm(dim=1)
    assert speeds[[0, 7]].tolist() == [0.0, 0.0]
    assert float(speeds.max()) > 1.0


def test_a_spin_that_is_no_vector_is_refused() -> None:
    with pytest.raises(SceneError, match="Soft body: the angular velocity must be three"):
        SoftBody(block(), angular_velocity=(0.0, float("nan"), 0.0))


def test_a_file_has_the_spin_and_none_where_there_is_none(tmp_path) -> None:
    path, mesh = tmp_path / "scene.json", block((1, 1, 1))
    save_scene(path, Scene([SoftBody(mesh, angular_velocity=(0.0, 0.0, 2.0))]), {})
    assert load_scene(path)[0].bodies[0].angular_velocity == (0.0, 0.0, 2.0)
    save_scene(path, Scene([SoftBody(mesh)]), {})
    assert "angular" not in path.read_text()


CONTACT = [
    ({"friction": -0.1}, "friction must be 0 or more, not -0.1"),
    ({"friction": math.nan}, "friction must be 0 or more"),
    ({"restitution": 1.1}, "restitution must be 0 … 1, not 1.1"),
    ({"restitution": math.nan}, "restitution must be 0 … 1"),
    ({"penalty": -1.0}, "penalty must be 0 or more per second, not -1"),
    ({"penalty": math.inf}, "penalty must be 0 or more per second, not inf"),
]


@pytest.mark.parametrize(("settings", "words"), CONTACT)
def test_a_ground_with_contact_that_does_not_exist(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SceneError, match=f"Ground: .*{words}"):
        Ground(**settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        *CONTACT,
        ({"radius": 0.0}, "radius must be above 0 m, not 0"),
        ({"radius": math.inf}, "radius must be above 0 m, not inf"),
        ({"center": (0.0, math.nan, 0.0)}, "center must be three finite numbers"),
        ({"center": (0.0, 1.0)}, "center must be three finite numbers"),
    ],
)
def test_a_sphere_that_does_not_exist(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SceneError, match=f"Ball: .*{words}"):
        Sphere(**{"center": (0.0, 0.0, 0.0), "radius": 1.0, "name": "Ball", **settings})
