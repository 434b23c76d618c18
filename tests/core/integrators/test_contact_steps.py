# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole simulations in which bodies touch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import (
    Attachment,
    Collider,
    Contact,
    Ground,
    Scene,
    SceneError,
    Simulator,
    SoftBody,
    TetMesh,
)
from supple.core import simulator as simulator_module
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.materials import StableNeoHookean
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.tests.core.touching import check_apart, checked, contact_of, plate
from supple.verification.meshes import block

pytest.importorskip("ipctk")

SOFT = StableNeoHookean(1e5, 0.3)
WEIGHTLESS = (0.0, 0.0, 0.0)
REACH = 0.02


def stacked(gap: float = 0.06, **options) -> Scene:
    """A small block above a larger one, which lies above the ground."""
    lower = SoftBody(block((2, 2, 2), origin=(0.0, 0.0, 0.02)), SOFT, name="Lower", **options)
    upper = block((2, 1, 1), (0.7, 0.6, 0.5), (0.13, 0.11, 1.02 + gap))
    bodies = [lower, SoftBody(upper, SOFT, name="Upper", **options)]
    return Scene(bodies, ground=Ground(), contact=Contact(distance=REACH))


def on_plate(**options) -> Scene:
    """A block that falls on a plate, and slides."""
    body = SoftBody(
        block((2, 2, 1), (1.0, 1.0, 0.5), (0.0, 0.0, 0.03)), SOFT, velocity=(1.0, 0.5, -1.0)
    )
    moving = plate(0.0, 3.0, np.array([[0.0, 0, 0], [0.02, 0, 0.02], [0.04, 0, 0.01]]))
    return Scene([body], colliders=[moving], contact=Contact(distance=REACH, **options))


# Rest


@pytest.mark.parametrize(
    "integrator", [ImplicitEuler(), BDF2(), SDIRK2()], ids=["implicit Euler", "BDF2", "SDIRK2"]
)
def test_a_block_comes_to_rest_on_another_without_touching_it(integrator) -> None:
    simulator = Simulator(stacked(damping=8.0), integrator)
    for frame in checked(simulator, 44):
        if frame.index > 10:
            assert 0.0 < frame.report.solver_statistics.minimum_distance < REACH
            assert frame.report.solver_statistics.contacts > 0
    assert frame.report.energies.kinetic < 1e-2
    assert float(frame.positions[1][:, 2].min()) > 0.9
    # What the upper one weighs is what contact bears.
    own = simulator.system.body_slices()[1]
    contact, positions = contact_of(simulator), simulator.state.positions
    contact.build_static_candidates(positions)
    gradient = torch.zeros_like(positions)
    contact.add_gradient(positions, gradient)
    weight = 9.81 * float(simulator.system.mass[own].sum())
    assert float(-gradient[2, own].sum()) == pytest.approx(weight, rel=0.02)


def test_two_blocks_on_the_ground_settle_where_they_would_come_to_rest() -> None:
    simulator = Simulator(stacked(gap=0.5 * REACH))
    settled = simulator.settle()
    check_apart(simulator)
    assert settled.report.solver_statistics.converged
    assert settled.report.energies.kinetic == 0.0
    damped = Simulator(stacked(gap=0.5 * REACH, damping=8.0))
    *_, last = damped.run(36)
    for found, expected in zip(settled.positions, last.positions, strict=True):
        np.testing.assert_allclose(found[:, 2], expected[:, 2], atol=2e-3)


# The account


def test_a_frame_without_anything_close_says_so() -> None:
    (frame,) = Simulator(stacked(gap=3.0)).run(1)
    statistics = frame.report.solver_statistics
    assert (statistics.contacts, statistics.minimum_distance, statistics.blocked) == (0, None, ())
    assert statistics.limited_steps == 0


def test_a_frame_tells_how_near_surfaces_came_and_which_steps_were_cut() -> None:
    simulator = Simulator(stacked(gap=0.3, velocity=(0.0, 0.0, -3.0)))
    statistics = [frame.report.solver_statistics for frame in checked(simulator, 6)]
    last = statistics[-1]
    contact, positions = contact_of(simulator), simulator.state.positions
    contact.build_static_candidates(positions)
    assert last.contacts == contact.count(positions) > 0
    assert last.minimum_distance == contact.min_distance(positions)
    assert sum(part.limited_steps for part in statistics) > 0
    assert simulator.frame().report.record()["contacts"] == last.contacts


# The same bits


def test_the_same_scene_has_the_same_bits_each_time() -> None:
    first, second = (list(Simulator(on_plate()).run(6)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.positions[0], other.positions[0])
        assert torch.equal(one.velocities[0], other.velocities[0])
    assert first[-1].report.solver_statistics.contacts > 0


@pytest.mark.parametrize(
    "integrator", [ImplicitEuler(), BDF2(), SDIRK2()], ids=["implicit Euler", "BDF2", "SDIRK2"]
)
@pytest.mark.parametrize("formulation", ["convergent", "original"])
def test_a_saved_state_goes_on_to_the_same_bits(integrator, formulation) -> None:
    scene = on_plate(formulation=formulation)
    whole = Simulator(scene, integrator)
    *_, saved = (whole.state for _ in whole.run(3))
    arrays = {name: values.copy() for name, values in saved.to_arrays().items()}
    *_, expected = whole.run(3)
    resumed = Simulator(scene, integrator)
    resumed.state = resumed.state.restored(3, arrays)
    *_, found = resumed.run(3)
    assert torch.equal(found.positions[0], expected.positions[0])
    np.testing.assert_array_equal(resumed.state.colliders, whole.state.colliders)
    np.testing.assert_array_equal(arrays["colliders"], scene.meshes[0].at(2))


# What cannot touch


FIXED_STEPS = [SymplecticEuler(), Midpoint(), RungeKutta4()]
OTHER_STEPS = [Adaptive(), XPBD()]


@pytest.mark.parametrize("integrator", OTHER_STEPS, ids=lambda each: type(each).__name__)
def test_adaptive_steps_and_xpbd_refuse_contact_in_words(integrator) -> None:
    with pytest.raises(SceneError, match=r"^Lower, Upper: .* cannot let surfaces touch each other"):
        Simulator(stacked(), integrator)


@pytest.mark.parametrize(
    "integrator", FIXED_STEPS + OTHER_STEPS, ids=lambda each: type(each).__name__
)
def test_explicit_steps_refuse_attachments_in_words(integrator) -> None:
    attached = replace(stacked(), contact=None, attachments=[Attachment(1, [0], 0)])
    with pytest.raises(SceneError, match=r"^Lower, Upper: .* attach bodies; choose Automatic"):
        Simulator(attached, integrator)


def test_automatic_takes_sdirk2_where_bodies_are_attached() -> None:
    apart = replace(stacked(), contact=None)
    assert Simulator(apart, Automatic()).stepper.label == "Symplectic Euler"
    attached = replace(apart, attachments=[Attachment(1, [0], 0)])
    assert Simulator(attached, Automatic()).stepper.label == "SDIRK2"


# What is attached


def test_two_bodies_attached_to_each_other_hang_together_from_a_pin() -> None:
    lower, upper = block((2, 2, 2)), block((2, 2, 2), origin=(0.0, 0.0, 1.0))
    touching = np.flatnonzero(upper.vertices[:, 2] == 1.0)
    pin = np.flatnonzero((upper.vertices == [1.0, 1.0, 2.0]).all(axis=1))
    bodies = [SoftBody(lower, SOFT, damping=2.0), SoftBody(upper, SOFT, damping=2.0, pinned=pin)]
    scene = Scene(bodies, contact=Contact(distance=REACH), attachments=[Attachment(1, touching, 0)])
    simulator = Simulator(scene)
    for frame in checked(simulator, 12):
        low, high = frame.positions
        own = low[np.flatnonzero(lower.vertices[:, 2] == 1.0)]
        assert float((own - high[touching]).norm(dim=1).max()) < 0.01
        np.testing.assert_array_equal(high[pin], upper.vertices[pin])
    # They swing as one.
    assert float(low[:, 2].mean()) < 0.2


# Precision and devices


FRAMES = 3


def test_torch_passes_agree_with_compiled_loops(request) -> None:
    *_, expected = Simulator(on_plate(), ImplicitEuler(1e-8)).run(FRAMES)
    request.getfixturevalue("without_compiled_loops")
    *_, found = Simulator(on_plate(), ImplicitEuler(1e-8)).run(FRAMES)
    assert expected.report.solver_statistics.contacts > 0
    torch.testing.assert_close(found.positions, expected.positions, rtol=0.0, atol=1e-8)


def test_a_device_agrees_with_the_processor(monkeypatch) -> None:
    body = SoftBody(block((1, 1, 1), origin=(0.0, 0.0, 0.01)), SOFT, velocity=(1.0, 0.0, -1.0))
    scene = Scene(
        [body], colliders=[plate(0.0, 3.0)], contact=Contact(distance=REACH, friction=0.0)
    )
    (expected,) = Simulator(scene, ImplicitEuler(1e-4), substeps=1).run(1)
    assert expected.report.solver_statistics.contacts > 0
    monkeypatch.setattr(simulator_module, "find_device", torch.device)
    with pretended_cuda():
        (found,) = Simulator(scene, ImplicitEuler(1e-4), device="cuda", substeps=1).run(1)
        positions = found.positions[0].cpu()
    torch.testing.assert_close(positions, expected.positions[0], rtol=0.0, atol=1e-7)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_cuda_agrees_with_the_processor() -> None:
    on_cuda, on_host = (
        list(Simulator(on_plate(), ImplicitEuler(1e-8), device=device).run(FRAMES))[-1]
        for device in ("cuda", "cpu")
    )
    torch.testing.assert_close(
        on_cuda.positions[0].cpu(), on_host.positions[0], rtol=0.0, atol=1e-7
    )


# Substeps


def test_colliders_go_on_with_every_step_of_a_frame() -> None:
    rising = plate(-0.1, frames=np.array([[0.0, 0, 0], [0, 0, 0.3]]))
    scene = Scene(
        [SoftBody(block((1, 1, 1)), SOFT)],
        colliders=[rising],
        contact=Contact(distance=REACH),
        gravity=WEIGHTLESS,
    )
    simulator = Simulator(scene, substeps=3)
    (frame,) = checked(simulator, 1)
    assert frame.report.substeps == 3
    colliders = simulator.state.colliders
    assert colliders is not None
    np.testing.assert_allclose(colliders[:, 2], 0.2)
    assert float(frame.positions[0][:, 2].min()) > 0.2


def test_two_steps_a_frame_are_two_frames_of_half_its_time() -> None:
    def end(heights: list[float], **options) -> torch.Tensor:
        way = np.array([[0.0, 0.0, height] for height in heights])
        scene = Scene(
            [SoftBody(block((1, 1, 1)), SOFT)],
            colliders=[plate(-0.1, frames=way)],
            contact=Contact(distance=REACH),
        )
        *_, last = Simulator(scene, **options).run(len(heights) - 1)
        return last.positions[0]

    whole = end([0.0, 0.3], substeps=2, frame_time=0.04)
    halves = end([0.0, 0.15, 0.3], substeps=1, frame_time=0.02)
    torch.testing.assert_close(whole, halves, rtol=0.0, atol=1e-9)


def test_a_collider_alone_brings_contact() -> None:
    scene = Scene([SoftBody(block(origin=(0.0, 0.0, 0.1)), SOFT)], colliders=[plate(0.0, 3.0)])
    simulator = Simulator(scene)
    assert isinstance(scene.colliders[0], Collider)
    for frame in checked(simulator, 10):
        assert float(frame.positions[0][:, 2].min()) > 0.0


def test_tets_that_the_ground_presses_flat_let_the_rest_of_the_body_go_on() -> None:
    mesh = block((3, 3, 3), (0.2, 0.2, 0.2), (-0.1, -0.1, 0.01))
    bodies = [
        SoftBody(
            TetMesh(mesh.vertices + np.array([0.0, 0.0, 0.21 * k]), mesh.tets),
            StableNeoHookean(500.0, 0.45),
            velocity=(0.0, 0.0, -5.0),
        )
        for k in range(2)
    ]
    scene = Scene(bodies, ground=Ground(), contact=Contact())
    simulator = Simulator(scene, SymplecticEuler(), frame_time=1.0 / 240.0)
    frames = list(simulator.run(8))
    assert min(frame.report.minimum_volume_ratio for frame in frames) < 0.25
    for frame in frames:
        statistics = frame.report.solver_statistics
        assert statistics.truncated_vertices == 0
        assert statistics.linearizations == frame.report.substeps


pytest.importorskip("ipctk")

TET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def run(scene: Scene, frames: int) -> Simulator:
    """Every frame ends, and in none anything intersects."""
    simulator = Simulator(scene, ImplicitEuler(), device="cpu")
    for frame in simulator.run(frames):
        check_apart(simulator)
        assert torch.isfinite(simulator.state.positions).all()
        # Retries included, the work of a frame is bounded.
        assert frame.report.substeps <= 8
    return simulator


@pytest.mark.parametrize("young", [1e3, 5e4])
def test_a_small_cube_falls_on_one_a_thousand_times_as_wide(young) -> None:
    material = StableNeoHookean(young, 0.4)
    large = block((1, 1, 1), (1.0, 1.0, 1.0), (-0.5, -0.5, 0.01))
    small = block((1, 1, 1), (1e-3, 1e-3, 1e-3), (0.1, 0.05, 1.02))
    assert len(small.tets) == 6
    bodies = [SoftBody(large, material), SoftBody(small, material)]
    run(Scene(bodies, ground=Ground(), contact=Contact()), 8)


def test_a_heap_of_single_tets_falls_together() -> None:
    random = np.random.default_rng(5)
    bodies = []
    for index in range(5):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        corners = 0.2 * (TET - 0.25) @ turn + [0.03 * index, 0.02 * index, 0.3 + 0.3 * index]
        bodies.append(SoftBody(TetMesh(corners, [[0, 1, 2, 3]]), StableNeoHookean(5e4, 0.4)))
    run(Scene(bodies, ground=Ground(), contact=Contact()), 14)


@pytest.mark.parametrize("gap", [1e-10, 1e-8])
def test_a_point_all_but_in_a_triangle_is_pushed_out(gap) -> None:
    corners = np.array([[0.0, 0, gap], [0.3, 0, 1], [-0.2, 0.3, 1], [-0.2, -0.3, 1]])
    floor = Collider(np.array([[-5.0, -5, 0], [5, -5, 0], [0, 9, 0]]), [[0, 1, 2]])
    body = SoftBody(TetMesh(corners, [[0, 1, 2, 3]]), StableNeoHookean(5e4, 0.4))
    simulator = run(Scene([body], colliders=[floor], contact=Contact(friction=0.0)), 6)
    assert float(simulator.state.positions[2].min()) > 1e-5
