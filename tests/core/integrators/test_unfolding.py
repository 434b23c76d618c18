# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that comes to rest in a shape that is none of its own is led out of it, or named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.errors import InstabilityError
from supple.core.integrators import BDF2, ImplicitEuler, Integrator
from supple.core.integrators.unfolding import Unfolding
from supple.core.materials import StableNeoHookean
from supple.core.system import System

from ..pretended_cuda import CUDA, pretended_cuda
from ..wheel import fan, wheel

WEIGHTLESS = (0.0, 0.0, 0.0)
# In which bodies of E = 1e5 and 1 m come to rest.
MAX_FRAMES = 96


def _crumpled(make_block: Callable[..., TetMesh], seed: int, poisson: float, **options) -> SoftBody:
    """From random positions."""
    mesh = make_block((4, 4, 4))
    start = np.random.default_rng(seed).random(mesh.vertices.shape)
    material = StableNeoHookean(1e5, poisson)
    return SoftBody(mesh, material, initial_positions=start, damping=4.0, **options)


def _edge_error(mesh: TetMesh, positions: torch.Tensor) -> float:
    """The largest error of an edge length, relative to it."""
    ends = mesh.tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)
    found, rest = (x[ends[:, 1]] - x[ends[:, 0]] for x in (positions.numpy(), mesh.vertices))
    lengths, expected = np.linalg.norm(found, axis=1), np.linalg.norm(rest, axis=1)
    return float(np.abs(lengths / expected - 1.0).max())


@pytest.mark.parametrize(
    ("integrator", "poisson", "seed"),
    [
        (ImplicitEuler(), 0.45, 1),
        (BDF2(), 0.45, 3),
        (ImplicitEuler(), 0.49, 3),
        (BDF2(), 0.49, 1),
        (ImplicitEuler(), 0.499, 3),
    ],
    ids=repr,
)
def test_a_crumpled_body_finds_its_rest_shape(
    make_block, integrator: Integrator, poisson: float, seed: int
) -> None:
    body = _crumpled(make_block, seed, poisson)
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), integrator)
    *_, last = simulator.run(MAX_FRAMES)
    assert _edge_error(body.mesh, last.positions[0]) < 0.01
    assert not last.report.caught and not last.report.unfolding
    # As it was before: 0.45 is not 0.3.
    assert float(simulator.system.elasticities[0].material.poisson) == poisson


def test_bodies_are_unfolded_one_by_one_and_named_meanwhile(make_block) -> None:
    calm = SoftBody(make_block((1, 1, 1)), StableNeoHookean(1e5, 0.45), name="Calm")
    folded = _crumpled(make_block, 3, 0.45, name="Crumpled")
    simulator = Simulator(Scene([calm, folded], gravity=WEIGHTLESS))
    named = {name for frame in simulator.run(MAX_FRAMES) for name in frame.report.unfolding}
    assert named == {"Crumpled"}
    torch.testing.assert_close(simulator.frame().positions[0], torch.as_tensor(calm.mesh.vertices))


def test_settling_finds_the_rest_shape(make_block) -> None:
    body = _crumpled(make_block, 3, 0.45)
    pinned = np.flatnonzero(body.mesh.vertices[:, 0] == 0.0)
    start = body.initial_positions.copy()
    start[pinned] = body.mesh.vertices[pinned]
    held = replace(body, pinned=pinned, initial_positions=start)
    settled = Simulator(Scene([held], gravity=WEIGHTLESS)).settle()
    assert _edge_error(body.mesh, settled.positions[0]) < 1e-6


def _held(make_block: Callable[..., TetMesh]) -> SoftBody:
    """Its ends are held where each other belong."""
    mesh = make_block((1, 1, 2))
    return SoftBody(
        mesh,
        StableNeoHookean(1e5, 0.4),
        initial_positions=mesh.vertices * [1.0, 1.0, -1.0],
        pinned=np.flatnonzero(np.abs(mesh.vertices[:, 2] - 0.5) > 0.4),
        damping=50.0,
        name="Held",
    )


def test_what_cannot_be_unfolded_is_said_to_be_caught(make_block) -> None:
    body = _held(make_block)
    reports = [frame.report for frame in Simulator(Scene([body], gravity=WEIGHTLESS)).run(80)]
    assert reports[-1].caught == ("Held",)
    assert reports[-1].record()["caught"] == ("Held",)
    assert sum(bool(report.unfolding) for report in reports) == 48
    assert not any(report.caught and report.unfolding for report in reports)


def test_a_run_that_is_resumed_while_it_unfolds_gives_the_same_bits(make_block) -> None:
    scene = Scene([_crumpled(make_block, 5, 0.49)], gravity=WEIGHTLESS)
    whole, resumed = (Simulator(scene, ImplicitEuler()), Simulator(scene, ImplicitEuler()))
    for frame in whole.run(MAX_FRAMES):
        if frame.report.unfolding:
            break
    arrays = {name: values.copy() for name, values in whole.state.to_arrays().items()}
    resumed.restore(whole.state.frame, arrays)
    for one, other in zip(whole.run(12), resumed.run(12), strict=True):
        assert torch.equal(one.positions[0], other.positions[0])
        assert one.report.unfolding == other.report.unfolding


def test_a_solve_that_fails_leaves_no_body_softened(make_block) -> None:
    simulator = Simulator(Scene([_crumpled(make_block, 0, 0.45)]))
    asked = []

    def solve(state):
        asked.append(simulator.system.softened)
        if len(asked) == 2:
            raise InstabilityError("no equilibrium")
        return state

    with pytest.raises(InstabilityError):
        Unfolding(simulator.system).unfolded_equilibrium(solve, simulator.state)
    assert asked == [(), (0,)] and simulator.system.softened == ()


def test_settling_says_what_stays_caught(make_block) -> None:
    body = _held(make_block)
    assert Simulator(Scene([body], gravity=WEIGHTLESS)).settle().report.caught == ("Held",)


def _watched(
    before: int = 0, turns: int = 2, motion: float = 0.0, can_soften: bool = True
) -> list[int]:
    """The counts of a wheel and of a calm body before it.

    Args:
        before: the count that the wheel has already.
        turns: in which the wheel lies around its axis.
        motion: share of the motion at which it no longer counts as resting, by which it swells.
    """
    mesh = wheel()
    # Askew, so that no axis is one of its inertia.
    askew = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    positions = fan(turns) @ (askew * np.linalg.det(askew))
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.45), initial_positions=positions)
    scene = Scene([SoftBody(_tet(), density=70.0), body], gravity=WEIGHTLESS)
    system = System(scene, torch.device("cpu"), torch.float64)
    state = system.initial_state()
    mass = mesh.lumped_mass(body.density)[:, None]
    centroid_offsets = positions - (mass * positions).sum(axis=0) / mass.sum()
    stiffness = float(body.material.mu) * mesh.rest_volumes.sum()
    swelling = np.sqrt(
        2.0 * motion * 1e-5 * stiffness / (mass * centroid_offsets * centroid_offsets).sum()
    )
    turning = np.array([1.0, 2.0, 3.0]) + np.cross([3.0, -2.0, 5.0], centroid_offsets)
    state.velocities[:, 4:] = torch.as_tensor((turning + swelling * centroid_offsets).T)
    state = replace(state, unfolding=np.array([0, before]))
    after = Unfolding(system, can_soften).watch(state).unfolding
    return [0, 0] if after is None else after.tolist()


def _tet() -> TetMesh:
    return TetMesh(np.vstack([np.zeros(3), np.eye(3)]) + 9.0, [[0, 1, 2, 3]])


def test_a_folded_body_that_flies_and_turns_is_at_rest_until_it_changes_its_shape() -> None:
    assert _watched(motion=0.0) == _watched(motion=0.99) == [0, 1]
    assert _watched(motion=1.01) == [0, 0]
    assert _watched(turns=1) == [0, 0]


def test_what_is_being_unfolded_may_move_and_is_given_up_after_48_frames() -> None:
    assert _watched(before=5, motion=9.0) == [0, 6]
    assert _watched(before=5, turns=1, motion=9.0) == [0, 0]
    assert (_watched(before=47), _watched(before=48)) == ([0, 48], [0, -1])
    assert _watched(before=-1, motion=9.0) == [0, -1]
    assert _watched(before=-1, turns=1) == [0, 0]


def test_with_a_method_that_does_not_follow_the_material_it_is_caught_at_once() -> None:
    assert _watched(can_soften=False) == [0, -1]


def test_on_cuda_bodies_are_softened_as_on_the_cpu(make_block) -> None:
    scene = Scene([SoftBody(make_block(), StableNeoHookean(1e5, 0.49)) for _ in range(2)])

    def softened(device: torch.device) -> torch.Tensor:
        system = System(scene, device, torch.float64)
        system.limit_poisson((1,), 0.3)
        return system.elasticities[0].gradient(1.1 * system.rest_positions()).cpu()

    expected = softened(torch.device("cpu"))
    with pretended_cuda():
        found = softened(CUDA)
    torch.testing.assert_close(found, expected)
