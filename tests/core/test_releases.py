# SPDX-License-Identifier: GPL-3.0-or-later
"""Test pins, attachments and stitches that let go: at a frame, or pulled too hard."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from supple.core import (
    Attachment,
    Channel,
    Collider,
    Contact,
    Goals,
    JobError,
    Release,
    Scene,
    SceneError,
    Simulator,
    Skin,
    SoftBody,
    Stitches,
)
from supple.core.integrators import NAMES, integrator_named
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean

G, FRAME = 9.81, 1.0 / 24.0
NO_WEIGHT = (0.0, 0.0, 0.0)
TABLE = np.array([[-2.0, -2, 1.1], [3, -2, 1.1], [3, 3, 1.1], [-2, 3, 1.1]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


def _top(mesh) -> np.ndarray:
    return np.flatnonzero(mesh.vertices[:, 2] > mesh.vertices[:, 2].max() - 1e-9)


def _momentum_rates(simulator: Simulator, frames: int) -> np.ndarray:
    """The (frames − 1, 3) changes of the centre of mass's velocity, in m/s²."""
    mass = simulator.system.mass.numpy()
    speeds = [mass @ frame.velocities[0].numpy() for frame in simulator.run(frames)]
    return np.diff(speeds, axis=0) / mass.sum() / FRAME


def _carried(mesh, release: Release | None, frames: int = 9) -> SoftBody:
    """A body carried by its top, which turns as it goes."""
    top = _top(mesh)
    times = np.arange(frames)[:, None, None]
    path = mesh.vertices[top] + times * [0.02, 0.0, 0.01]
    path[:, 0, 0] += 0.002 * np.arange(frames)
    velocity = (0.48, 0.0, 0.24)
    return SoftBody(mesh, pinned=top, pin_path=path, velocity=velocity, release=release)


def _is_let_go(simulator: Any) -> bool:
    return bool(simulator.system.free.all())


# Pins


@pytest.mark.parametrize("name", NAMES)
def test_pins_that_let_go_leave_a_body_that_falls(make_block, name) -> None:
    body = _carried(make_block((1, 1, 1), (0.4, 0.4, 0.4)), Release(frame=3))
    simulator = Simulator(Scene([body]), integrator_named(name))
    rates = _momentum_rates(simulator, 6)
    assert np.abs(rates[1] - [0.0, 0.0, -G]).max() > 1.0
    np.testing.assert_allclose(rates[3:], np.tile([0.0, 0.0, -G], (2, 1)), atol=5e-3)


@pytest.mark.parametrize("name", ["implicit_euler", "bdf2", "runge_kutta4"])
def test_what_lets_go_flies_on_at_the_speed_it_was_carried_at(make_block, name) -> None:
    """Without weight, the whole body goes on with the momentum of the moment."""
    mesh = make_block((1, 1, 1), (0.4, 0.4, 0.4))
    path = mesh.vertices[_top(mesh)] + np.arange(9)[:, None, None] * [0.02, 0.0, 0.01]
    body = SoftBody(
        mesh, pinned=_top(mesh), pin_path=path, velocity=(0.48, 0.0, 0.24), release=Release(frame=2)
    )
    simulator = Simulator(Scene([body], gravity=NO_WEIGHT), integrator_named(name))
    for frame in simulator.run(8):
        speeds = frame.velocities[0].numpy()
        np.testing.assert_allclose(speeds, np.tile(body.velocity, (len(speeds), 1)), atol=2e-3)
    moved = frame.positions[0].numpy() - mesh.vertices
    np.testing.assert_allclose(moved, np.tile([0.16, 0.0, 0.08], (len(moved), 1)), atol=2e-4)


def test_the_frame_at_which_pins_let_go_is_the_last_on_their_path(make_block) -> None:
    body = _carried(make_block((1, 1, 1)), Release(frame=4))
    simulator = Simulator(Scene([body]))
    off = [
        float(np.abs(frame.positions[0].numpy()[body.pinned] - body.pin_path.at(frame.index)).max())
        for frame in simulator.run(6)
    ]
    assert max(off[:4]) < 1e-12 < 1e-3 < min(off[4:])


def test_pins_that_let_go_at_the_start_hold_nothing(make_block) -> None:
    body = _carried(make_block((1, 1, 1)), Release(frame=0))
    simulator = Simulator(Scene([body]))
    np.testing.assert_allclose(simulator.state.velocities.T, np.tile(body.velocity, (8, 1)))
    np.testing.assert_allclose(
        _momentum_rates(simulator, 3), np.tile([0.0, 0.0, -G], (2, 1)), atol=1e-6
    )


def test_goals_let_go_with_the_pins(make_block) -> None:
    mesh = make_block((1, 1, 1))
    goals = Goals(_top(mesh), mesh.vertices[_top(mesh)], 0.5)
    skin = Skin(mesh.vertices, goals=replace(goals, weights=0.3))
    body = SoftBody(mesh, goals=goals, skin=skin, release=Release(frame=2))
    rates = _momentum_rates(Simulator(Scene([body])), 5)
    assert rates[0, 2] > -0.9 * G
    np.testing.assert_allclose(rates[2:], np.tile([0.0, 0.0, -G], (2, 1)), atol=1e-5)


def _hanging(body: SoftBody, **more: Any) -> Simulator:
    """A simulator settled under a weight of one g, before anything moves."""
    simulator = Simulator(Scene([body], **more))
    simulator.settle()
    return simulator


@pytest.mark.parametrize("kind", ["pins", "goals", "both"])
@pytest.mark.parametrize(("share", "lets_go"), [(0.99, True), (1.01, False)])
def test_pins_let_go_where_the_weight_of_the_body_is_too_much(
    make_block, kind, share, lets_go
) -> None:
    mesh = make_block((1, 1, 1))
    force = share * float(mesh.lumped_mass(1000.0).sum()) * G
    top = _top(mesh)
    pinned = {"pins": top, "goals": None, "both": top[:2]}[kind]
    pulled = {"pins": top[:0], "goals": top, "both": top[2:]}[kind]
    goals = Goals(pulled, mesh.vertices[pulled], damping_ratio=1.0) if len(pulled) else None
    body = SoftBody(
        mesh, StableNeoHookean(1e6, 0.3), pinned=pinned, goals=goals, release=Release(force=force)
    )
    simulator = _hanging(body)
    rates = _momentum_rates(simulator, 3)
    expected = -G if lets_go else 0.0
    np.testing.assert_allclose(rates[:, 2], expected, atol=0.05)


def test_a_pull_sideways_counts_as_much(make_block) -> None:
    mesh = make_block((1, 1, 1))
    weight = float(mesh.lumped_mass(1000.0).sum()) * G
    body = SoftBody(mesh, pinned=_top(mesh), release=Release(force=1.2 * weight))
    pulled = Channel([[0.0, 0.0, -G], [0.0, 0.0, -G], [G, 0.0, -G]])
    simulator = _hanging(body, gravity=pulled)
    assert not _is_let_go(simulator)
    list(simulator.run(5))
    assert _is_let_go(simulator)


# Attachments


def _on_collider(make_block, release: Release | None, **more: Any) -> Scene:
    mesh = make_block((1, 1, 1))
    body = SoftBody(mesh, StableNeoHookean(1e6, 0.3), **more)
    attachment = Attachment(0, _top(mesh), 0, "collider", release=release)
    return Scene([body], colliders=[Collider(TABLE, HALVES)], attachments=[attachment])


def _on_body(make_block, release: Release | None) -> Scene:
    lower, upper = make_block((1, 1, 1)), make_block((1, 1, 1), origin=(0.0, 0.0, 1.05))
    stiff = StableNeoHookean(1e6, 0.3)
    bodies = [SoftBody(lower, stiff), SoftBody(upper, stiff, pinned=_top(upper))]
    return Scene(bodies, attachments=[Attachment(0, _top(lower), 1, release=release)])


@pytest.mark.parametrize("scene_of", [_on_collider, _on_body])
def test_an_attachment_lets_go_at_a_frame(make_block, scene_of) -> None:
    scene = scene_of(make_block, Release(frame=3))
    frames = list(Simulator(scene).run(6))
    assert [len(frame.report.let_go) for frame in frames] == [0, 0, 0, 1, 0, 0]
    assert "Soft body, attached to " in frames[3].report.let_go[0]
    fallen = [float(frame.positions[0][:, 2].max()) for frame in frames]
    assert abs(fallen[2] - 1.0) < 0.02
    np.testing.assert_allclose(np.diff(fallen[2:], 2), -G * FRAME**2, rtol=0.15)


@pytest.mark.parametrize("scene_of", [_on_collider, _on_body])
@pytest.mark.parametrize(("share", "lets_go"), [(0.99, True), (1.01, False)])
def test_a_single_vertex_holds_a_weight_and_no_more(make_block, scene_of, share, lets_go) -> None:
    """Hung by one vertex below the centre of mass of what cannot turn: of four, each at a corner
    of a cube, the two that share tets alike."""
    scene = scene_of(make_block, None)
    mass = scene.bodies[0].mesh.lumped_mass(1000.0).sum()
    (whole,) = scene.attachments
    one = replace(whole, points=whole.points[:1], release=Release(force=share * mass * G))
    simulator = Simulator(replace(scene, attachments=[one]))
    # It hangs where its vertex is straight above its centre of mass.
    simulator.settle()
    frames = list(simulator.run(3))
    speed = abs(float(frames[-1].velocities[0][:, 2].mean()))
    assert (speed > 0.5) is lets_go


def test_an_attachment_tears_from_where_it_is_pulled_most(make_block) -> None:
    scene = _on_collider(make_block, Release(force=1.2e4))
    pull = Channel(np.linspace(0.0, 1.0, 13)[:, None] * [12.0, 0.0, -3.0])
    simulator = Simulator(replace(scene, gravity=pull))
    held = []
    for _ in simulator.run(16):
        pinned = simulator.system.is_pinned[: len(simulator.system.mass)]
        held.append(int(pinned.sum()))
    assert held[0] == 4 and held[-1] == 0
    assert set(held) - {0, 4}, held


def test_what_was_attached_collides_once_it_is_apart(make_block) -> None:
    """Let go by a ceiling that it was attached to, a cube is thrown up against it."""
    pytest.importorskip("ipctk")
    scene = _on_collider(make_block, Release(frame=1), velocity=(0.0, 0.0, 3.0))
    simulator = Simulator(replace(scene, gravity=(0.0, 0.0, 1.0), contact=Contact()))
    highest = [float(frame.positions[0][:, 2].max()) for frame in simulator.run(12)]
    assert max(highest) < 1.1
    assert simulator.scene.attachments and not simulator.system.scene.attachments


def test_what_goes_through_each_other_does_not_collide_when_it_lets_go(make_block) -> None:
    pytest.importorskip("ipctk")
    lower, upper = make_block((1, 1, 1)), make_block((1, 1, 1), origin=(0.0, 0.0, 0.8))
    bodies = [SoftBody(lower), SoftBody(upper, pinned=_top(upper))]
    attachment = Attachment(0, _top(lower), 1, release=Release(frame=1))
    simulator = Simulator(Scene(bodies, contact=Contact(), attachments=[attachment]))
    lowest = [float(frame.positions[0][:, 2].min()) for frame in simulator.run(14)]
    np.testing.assert_allclose(np.diff(lowest[2:8], 2), -G * FRAME**2, rtol=0.2)
    # Having fallen out of the other, it would meet it again.
    assert not simulator.system.scene.attachments


# Grips


def _gripped(make_block, **more: Any) -> SoftBody:
    """A falling body whose moving pins take hold at frame 4 and let go at frame 8."""
    mesh = make_block((1, 1, 1), (0.4, 0.4, 0.4))
    path = mesh.vertices[_top(mesh)] + np.arange(13)[:, None, None] * [0.02, 0.0, 0.01]
    release = Release(0, again=(4, 8), **more)
    return SoftBody(
        mesh, StableNeoHookean(1e6, 0.3), pinned=_top(mesh), pin_path=path, release=release
    )


@pytest.mark.parametrize("name", NAMES)
def test_pins_take_hold_where_the_body_is_and_follow_their_motion(make_block, name) -> None:
    body = _gripped(make_block)
    frames = list(Simulator(Scene([body]), integrator_named(name)).run(11))
    top = [frame.positions[0].numpy()[body.pinned] for frame in frames]
    fallen = 0.5 * G * (4 * FRAME) ** 2
    assert body.mesh.vertices[:, 2].max() - top[3][:, 2].mean() == pytest.approx(fallen, rel=0.3)
    for frame in range(4, 8):
        expected = top[3] + (frame - 3) * np.array([0.02, 0.0, 0.01])
        np.testing.assert_allclose(top[frame], expected, atol=1e-9)
    names = [frame.report.took_hold for frame in frames]
    assert names[4] == ("the pins of Soft body",) and not any(names[:4] + names[5:])
    assert [len(frame.report.let_go) for frame in frames] == 8 * [0] + [1] + 2 * [0]
    assert top[10][:, 2].mean() < top[7][:, 2].mean() - 0.01


def test_goals_take_hold_with_the_shape_of_their_own(make_block) -> None:
    """Drawn to goals where it has fallen to, a body hangs there."""
    mesh = make_block((1, 1, 1), (0.4, 0.4, 0.4))
    every = np.arange(len(mesh.vertices))
    goals = Goals(every, mesh.vertices, 1.0, frequency=6.0, damping_ratio=1.0)
    stiff = StableNeoHookean(1e6, 0.3)
    body = SoftBody(
        mesh, stiff, goals=goals, release=Release(0, again=(5,)), velocity=(1.0, 0.0, 0.0)
    )
    frames = list(Simulator(Scene([body])).run(60))
    begun, end = (frame.positions[0].numpy().mean(axis=0) for frame in (frames[4], frames[-1]))
    sag = G / (2.0 * np.pi * 6.0) ** 2
    np.testing.assert_allclose(end, begun - [0.0, 0.0, sag], atol=2e-3)


@pytest.mark.parametrize("skinned", [False, True])
def test_an_attachment_takes_hold_of_a_moving_and_turning_plate(make_block, skinned) -> None:
    """A body that has fallen for three frames keeps its place beside a plate that turns."""
    scene = _on_collider(make_block, Release(0, again=(3,)))
    angles = np.linspace(0.0, 0.8, 9)
    turns = np.array(
        [[[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]] for a in angles]
    )
    table = np.einsum("tij,vj->tvi", turns, TABLE) + angles[:, None, None] * [0.5, 0.0, 0.2]
    (body,) = scene.bodies
    if skinned:
        body = replace(body, skin=Skin(body.mesh.vertices))
    scene = replace(scene, bodies=[body], colliders=[Collider(Channel(table), HALVES)])
    scene = replace(scene, contact=Contact(passing=np.array([[0, 1]])))
    simulator = Simulator(scene)
    frames = list(simulator.run(8))
    top = _top(body.mesh)
    places = [
        (frame.positions[0].numpy()[top] - table[frame.index][0]) @ turns[frame.index]
        for frame in frames
    ]
    assert np.abs(places[2] - places[0]).max() > 0.01
    for place in places[3:]:
        np.testing.assert_allclose(place, places[2], atol=1e-9)


def test_an_attachment_takes_hold_of_another_body_where_it_is(make_block) -> None:
    scene = _on_body(make_block, Release(0, again=(4, 10)))
    frames = list(Simulator(scene).run(13))
    low = [float(frame.positions[0][:, 2].max()) for frame in frames]
    assert 1.0 - low[3] > 0.1
    # The joint gives a little, as it does where it holds from the start.
    assert abs(low[9] - low[3]) < 0.03
    assert low[12] < low[9] - 0.02


def test_torn_parts_are_held_again(make_block) -> None:
    """The pull of frames 2 to 5 tears a body off, and its pins take hold at frame 8."""
    mesh = make_block((1, 1, 1))
    pull = np.zeros((13, 3))
    pull[2:6, 0] = 100.0
    release = Release(7, force=2e4, again=(8,))
    body = SoftBody(mesh, pinned=_top(mesh), release=release)
    simulator = Simulator(Scene([body], gravity=Channel(pull)))
    held = []
    for _ in simulator.run(12):
        held.append(not _is_let_go(simulator))
    assert held[0] and not held[6] and held[8]


def test_a_grip_is_resumed_to_the_same_bits(make_block, tmp_path) -> None:
    lower, upper = make_block((1, 1, 1)), make_block((1, 1, 1), origin=(0.0, 0.0, 1.05))
    bodies = [
        SoftBody(lower, pinned=_top(lower), release=Release(6, again=(7, 9))),
        SoftBody(upper, pinned=_top(upper), release=Release(2, again=(3,))),
    ]
    attachments = [
        Attachment(0, _top(lower), 0, "collider", release=Release(0, again=(1, 2, 5))),
        Attachment(0, _top(lower)[:2], 1, release=Release(3, again=(4, 8))),
    ]
    path = Channel(TABLE + np.arange(11)[:, None, None] * [0.02, 0.0, 0.0])
    scene = Scene(bodies, colliders=[Collider(path, HALVES)], attachments=attachments)
    scene = replace(scene, contact=Contact(passing=np.array([[0, 1], [0, 2], [1, 2]])))
    save_scene(tmp_path / "scene.json", scene, {})
    loaded, _ = load_scene(tmp_path / "scene.json")
    whole = Simulator(loaded)
    states, ends = [], []
    for frame in whole.run(10):
        ends.append(frame)
        states.append(whole.state.to_arrays())
    for start in range(1, 10):
        again = Simulator(loaded)
        again.restore(start, states[start - 1])
        (frame,) = again.run(1)
        for one, other in zip(ends[start].positions, frame.positions, strict=True):
            assert one.numpy().tobytes() == other.numpy().tobytes(), start
    assert {frame for each in states for frame in each.get("grip_frames", [])} == {1, 3, 4, 5, 7}
    with pytest.raises(JobError, match="does not fit the releases"):
        again.restore(3, states[3] | {"grip_frames": np.array([2])})


def test_a_body_goes_from_hand_to_hand(make_block) -> None:
    """The same vertices are pinned, then held by one plate, then by another one."""
    mesh = make_block((1, 1, 1), (0.4, 0.4, 0.4))
    top = _top(mesh)
    rates = [np.array([0.0, 0.05, 0.0]), np.array([0.03, 0.0, 0.0])]
    colliders = [
        Collider(Channel(TABLE + np.arange(12)[:, None, None] * rate), HALVES) for rate in rates
    ]
    body = SoftBody(mesh, StableNeoHookean(1e6, 0.3), pinned=top, release=Release(3))
    attachments = [
        Attachment(0, top, 0, "collider", release=Release(0, again=(7, 11))),
        Attachment(0, top, 1, "collider", release=Release(0, again=(3, 7))),
    ]
    contact = Contact(passing=np.array([[0, 1], [0, 2]]))
    scene = Scene([body], colliders=colliders, attachments=attachments, contact=contact)
    tops = [mesh.vertices[top]]
    tops += [frame.positions[0].numpy()[top] for frame in Simulator(scene).run(11)]
    expected = 3 * [np.zeros(3)] + 4 * [rates[1]] + 4 * [rates[0]]
    for (before, after), rate in zip(pairwise(tops), expected, strict=True):
        np.testing.assert_allclose(after - before, np.tile(rate, (4, 1)), atol=1e-9)


def test_a_body_that_is_gripped_collides_beside_the_grip(make_block) -> None:
    """A cube that rests on a plate is attached to it by its lower face and lifted."""
    mesh = make_block((1, 1, 1), (0.4, 0.4, 0.4), origin=(0.0, 0.0, 0.002))
    bottom = np.flatnonzero(mesh.vertices[:, 2] < 0.01)
    plate = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    path = plate + np.array([0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5])[:, None, None] * [0.0, 0.0, 0.05]
    body = SoftBody(mesh, StableNeoHookean(1e6, 0.3))
    attachment = Attachment(0, bottom, 0, "collider", release=Release(0, again=(5, 9)))
    scene = Scene([body], colliders=[Collider(Channel(path), HALVES)], attachments=[attachment])
    frames = list(Simulator(scene).run(10))
    gaps = [frame.positions[0].numpy()[bottom, 2] - path[frame.index, 0, 2] for frame in frames]
    assert min(gap.min() for gap in gaps) > 0.0
    np.testing.assert_allclose(gaps[8], gaps[4], atol=1e-9)


# Jobs


def test_a_scene_that_lets_go_is_saved_and_resumed_to_the_same_bits(make_block, tmp_path) -> None:
    mesh = make_block((1, 1, 1))
    upper = SoftBody(make_block((1, 1, 1), origin=(0.0, 0.0, 1.05)))
    body = replace(_carried(mesh, Release(frame=5, force=1e9)))
    scene = Scene(
        [body, upper],
        attachments=[Attachment(1, np.arange(4), 0, release=Release(frame=2, force=1e6))],
        forces=[Stitches(1, [0, 1], 0, closed=Channel([0.0, 1.0]), release=Release(3))],
    )
    save_scene(tmp_path / "scene.json", scene, {})
    loaded, _ = load_scene(tmp_path / "scene.json")
    integrator = integrator_named("bdf2")
    whole = Simulator(loaded, integrator)
    frames = [whole.frame(), *whole.run(3)]
    arrays = whole.state.to_arrays()
    ends = [*frames, *whole.run(4)]
    again = Simulator(loaded, integrator)
    again.restore(3, arrays)
    for first, second in zip(ends[4:], again.run(4), strict=True):
        for one, other in zip(first.positions, second.positions, strict=True):
            assert one.numpy().tobytes() == other.numpy().tobytes()
    with pytest.raises(JobError, match="does not fit the releases"):
        again.restore(3, arrays | {"released": np.zeros(3, dtype=bool)})


def test_a_scene_that_lets_nothing_go_has_no_more_members(make_block, tmp_path) -> None:
    save_scene(tmp_path / "scene.json", _on_collider(make_block, None), {})
    text = (tmp_path / "scene.json").read_text()
    assert "release" not in text and "threads" not in text and 'vertices": null' not in text


def test_no_sense(make_block) -> None:
    for frame, again in ((None, (3,)), (4, (4,)), (4, (7, 6))):
        with pytest.raises(SceneError, match="takes hold again at later frames"):
            Release(frame, again=again)
    with pytest.raises(SceneError, match="Stitches let go for good"):
        Stitches(0, [0], 1, release=Release(1, again=(2,)))
    with pytest.raises(SceneError, match="must be 0 or later, not -1"):
        Release(frame=-1)
    for force in (0.0, -3.0, float("nan")):
        with pytest.raises(SceneError, match="break force in newtons must be above 0"):
            Release(force=force)
