# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that meet faster than a step of one frame could tell from passing each other."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    Automatic,
    ImplicitEuler,
    Integrator,
    SymplecticEuler,
    implicit_stepper,
)
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact import truncated_motion
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners
from supple.tests.core.touching import check_apart
from supple.verification.meshes import block

SIDE, GAP = 0.2, 0.01
CUBE = (SIDE, SIDE, SIDE)
IMPLICIT = pytest.mark.parametrize("integrator", [ImplicitEuler(), BDF2(), SDIRK2()])


def cube(
    name: str,
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0),
    size: tuple[float, float, float] = CUBE,
    young: float = 1e5,
    turned: float = 0.0,
    cells: tuple[int, int, int] = (2, 2, 2),
    **options,
) -> SoftBody:
    """A box about a centre, turned by degrees about the y axis."""
    mesh = block(cells, size, (-0.5 * np.array(size)).tolist())
    cosine, sine = math.cos(math.radians(turned)), math.sin(math.radians(turned))
    rotation = np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]])
    vertices = mesh.vertices @ rotation.T + centre
    material = StableNeoHookean(young, 0.4)
    return SoftBody(TetMesh(vertices, mesh.tets), material, name=name, **options)


def flying(
    bodies: list[SoftBody],
    integrator: Integrator,
    colliders: list[Collider] | None = None,
    spin: float = 0.0,
    **options,
) -> Simulator:
    """Without friction and gravity; the last body also spins about the y axis."""
    scene = Scene(
        bodies, gravity=(0.0, 0.0, 0.0), colliders=colliders or [], contact=Contact(friction=0.0)
    )
    simulator = Simulator(scene, integrator, **options)
    where = simulator.system.body_slices()[-1]
    velocities, at = simulator.state.velocities.clone(), simulator.state.positions[:, where]
    arms = at - at.mean(dim=1, keepdim=True)
    velocities[0, where] += spin * arms[2]
    velocities[2, where] -= spin * arms[0]
    simulator.state = replace(simulator.state, velocities=velocities)
    return simulator


def momenta(simulator: Simulator) -> np.ndarray:
    """The (B, 3) momenta of bodies in kg m/s."""
    system, state = simulator.system, simulator.state
    each = [
        (system.mass[where] * state.velocities[:, where]).sum(dim=1)
        for where in system.body_slices()
    ]
    return torch.stack(each).numpy()


def throw(
    bodies: list[SoftBody], integrator: Integrator, frames: int = 2, spin: float = 0.0, **options
) -> np.ndarray:
    """The (B,) shares of the momentum along z that each body has in the end; checks that all is
    there."""
    simulator = flying(bodies, integrator, spin=spin, **options)
    start = momenta(simulator).sum(axis=0)
    for frame in simulator.run(frames):
        assert frame.report.solver_statistics.converged
        np.testing.assert_allclose(
            momenta(simulator).sum(axis=0), start, atol=1e-6 * np.abs(start).max()
        )
    if not isinstance(integrator, SymplecticEuler | Automatic):
        check_apart(simulator)
    return momenta(simulator)[:, 2] / start[2]


def thrown(speed: float, **options) -> list[SoftBody]:
    upper = cube("Upper", (0.0, 0.0, SIDE + GAP), velocity=(0.0, 0.0, -speed), **options)
    return [cube("Lower"), upper]


@IMPLICIT
@pytest.mark.parametrize(
    ("young", "speed"),
    [(1e5, 10.0), (1e5, 20.0), (1e5, 40.0), (1e6, 80.0), (1e7, 20.0), (1e7, 80.0)],
)
def test_a_block_that_is_hit_takes_its_part_of_the_momentum_at_any_speed(
    integrator, young, speed
) -> None:
    lower = cube("Lower", young=young)
    upper = cube("Upper", (0.0, 0.0, SIDE + GAP), young=young, velocity=(0.0, 0.0, -speed))
    # Half of it where nothing bounces back, all of it where everything does.
    hit, _ = throw([lower, upper], integrator)
    assert 0.44 < hit < 0.9


@pytest.mark.parametrize(
    ("young", "speed"), [(1e5, 5.0), (1e5, 15.0), (1e6, 5.0), (1e6, 40.0), (1e7, 80.0)]
)
def test_implicit_steps_hand_on_as_much_momentum_as_explicit_ones(young, speed) -> None:
    lower = cube("Lower", young=young)
    upper = cube("Upper", (0.0, 0.0, SIDE + GAP), young=young, velocity=(0.0, 0.0, -speed))
    shares = [throw([lower, upper], each, frames=3)[0] for each in (SDIRK2(), SymplecticEuler())]
    assert shares[0] == pytest.approx(shares[1], rel=0.02)


def test_automatic_lets_no_stiff_block_past() -> None:
    bodies = [
        cube("Lower", young=1e7),
        cube("Upper", (0.0, 0.0, SIDE + GAP), young=1e7, velocity=(0.0, 0.0, -80.0)),
    ]
    hit, hitting = throw(bodies, Automatic())
    assert hit > max(hitting, 0.47)


@IMPLICIT
@pytest.mark.parametrize(
    ("upper", "spin"),
    [
        (cube("Turned", (0.0, 0.0, 0.3), turned=45.0, velocity=(0.0, 0.0, -20.0)), 0.0),
        (cube("Spinning", (0.0, 0.0, 0.3), turned=30.0, velocity=(0.0, 0.0, -20.0)), 40.0),
        (cube("Far", (0.0, 0.0, 0.7), velocity=(0.0, 0.0, -20.0)), 0.0),
        (cube("Slanted", (0.0, 0.0, 0.25), velocity=(3.0, 0.0, -20.0)), 0.0),
    ],
    ids=lambda value: value.name if isinstance(value, SoftBody) else "",
)
def test_however_it_comes_it_hits(integrator, upper, spin) -> None:
    hit, _ = throw([cube("Lower"), upper], integrator, spin=spin)
    explicit, _ = throw([cube("Lower"), upper], SymplecticEuler(), spin=spin)
    assert 0.44 < hit < explicit + 0.05


@IMPLICIT
@pytest.mark.parametrize("thickness", [0.02, 0.05])
def test_plates_stop_each_other(integrator, thickness) -> None:
    size, cells = (SIDE, SIDE, thickness), (3, 3, 1)
    lower = cube("Lower", size=size, cells=cells)
    upper = cube(
        "Upper", (0.0, 0.0, thickness + GAP), size, cells=cells, velocity=(0.0, 0.0, -20.0)
    )
    hit, hitting = throw([lower, upper], integrator)
    assert hit > max(hitting, 0.49)


@IMPLICIT
def test_what_is_hit_hits_the_next(integrator) -> None:
    size, step = (0.1, 0.1, 0.1), 0.105
    row = [cube(f"Block {k}", (0.0, 0.0, step * k), size) for k in range(3)]
    last = cube("Last", (0.0, 0.0, 3.0 * step), size, velocity=(0.0, 0.0, -20.0))
    shares = throw([*row, last], integrator)
    # In the order in which they lie, each faster than the one behind it.
    assert (np.diff(shares[:3]) < 0.0).all()
    assert shares[0] > 0.3


@IMPLICIT
@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("speed", [20.0, 80.0])
def test_a_still_collider_stops_what_comes(integrator, is_closed, speed) -> None:
    plate = _plate(is_closed)
    body = cube("Block", (0.0, 0.0, 0.06), (0.1, 0.1, 0.1), velocity=(0.0, 0.0, -speed))
    simulator = flying([body], integrator, [plate])
    list(simulator.run(2))
    assert momenta(simulator)[0, 2] > 0.0
    assert float(simulator.state.positions[2].min()) > 0.0
    check_apart(simulator)


@IMPLICIT
@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("speed", [20.0, 40.0])
def test_a_fast_collider_takes_a_body_along(integrator, is_closed, speed) -> None:
    frames = np.arange(4)[:, None, None]
    plate = _plate(is_closed)
    path = plate.at(0) + np.array([0.0, 0.0, 0.3]) - frames * np.array([0.0, 0.0, speed / 24.0])
    body = cube("Block", size=(0.1, 0.1, 0.1))
    simulator = flying([body], integrator, [Collider(path, plate.triangles, name="Plate")])
    list(simulator.run(3))
    # At least as fast as what pushes it, and ahead of it.
    mass = float(simulator.system.mass.sum())
    assert -momenta(simulator)[0, 2] > 0.9 * speed * mass
    assert float(simulator.state.positions[2].max()) < path[-1, :, 2].min()


def _plate(is_closed: bool) -> Collider:
    """30 cm wide, with its top at the height 0."""
    if is_closed:
        return Collider(box_corners((-0.15, -0.15, -0.01), (0.3, 0.3, 0.01)), BOX_TRIANGLES)
    corners = [[-0.15, -0.15, 0], [0.15, -0.15, 0], [0.15, 0.15, 0], [-0.15, 0.15, 0]]
    return Collider(np.array(corners, dtype=float), [[0, 1, 2], [0, 2, 3]])


@IMPLICIT
def test_a_body_that_pins_carry_hits_what_is_in_its_way(integrator) -> None:
    speed = 20.0
    club = cube("Club", (0.0, 0.0, SIDE + GAP), young=1e6, velocity=(0.0, 0.0, -speed))
    pinned = np.flatnonzero(club.mesh.vertices[:, 2] > SIDE + 0.1)
    path = np.stack([club.mesh.vertices[pinned] - [0, 0, speed / 24.0 * k] for k in range(4)])
    club = replace(club, pinned=pinned, pin_path=path)
    simulator = flying([cube("Lower", size=(0.1, 0.1, SIDE), young=1e6), club], integrator)
    list(simulator.run(2))
    hit = simulator.system.body_slices()[0]
    mass = float(simulator.system.mass[hit].sum())
    # Nearly as fast as the pins, and ahead of them.
    assert -momenta(simulator)[0, 2] > 0.8 * speed * mass
    ahead = simulator.state.positions[2, hit].max()
    assert float(ahead) < float(simulator.state.positions[2, pinned + hit.stop].min())
    check_apart(simulator)


def test_frames_in_which_nothing_meets_take_one_step() -> None:
    upper = cube("Upper", (0.0, 0.0, 3.0), velocity=(0.0, 0.0, -20.0))
    simulator = flying([cube("Lower"), upper], ImplicitEuler())
    steps = [frame.report.solver_statistics.steps for frame in simulator.run(6)]
    meeting = next(k for k, count in enumerate(steps) if count > 1)
    # 2.8 m at 20 m/s are 3.4 frames.
    assert meeting == 3
    assert steps[:3] == [1, 1, 1]
    assert max(steps) < 8


@pytest.mark.parametrize("substeps", [3, 5])
def test_as_many_substeps_as_were_asked_for_are_the_least(substeps) -> None:
    calm = flying([cube("Lower"), cube("Upper", (0, 0, 1.0))], ImplicitEuler(), substeps=substeps)
    assert [frame.report.solver_statistics.steps for frame in calm.run(2)] == [substeps] * 2
    fast = flying(thrown(20.0), ImplicitEuler(), substeps=substeps)
    (frame,) = fast.run(1)
    assert frame.report.substeps == substeps
    assert frame.report.solver_statistics.steps > substeps
    assert momenta(fast)[0, 2] < 0.47 * momenta(fast)[:, 2].sum() < 0.0


def test_more_parts_than_a_step_may_have_are_reported(monkeypatch) -> None:
    monkeypatch.setattr(implicit_stepper, "MAX_PARTS", 2)
    simulator = flying(thrown(80.0), ImplicitEuler(), substeps=1)
    (frame,) = simulator.run(1)
    assert frame.report.solver_statistics.steps == 2
    assert frame.report.solver_statistics.too_fast == ("Lower and Upper",)
    monkeypatch.undo()
    (frame,) = flying(thrown(80.0), ImplicitEuler(), substeps=1).run(1)
    assert frame.report.solver_statistics.too_fast == ()


@IMPLICIT
def test_a_run_that_is_resumed_after_parts_ends_with_the_same_bits(integrator) -> None:
    whole, resumed = (flying(thrown(20.0), integrator) for _ in range(2))
    list(whole.run(1))
    arrays = {name: values.copy() for name, values in whole.state.to_arrays().items()}
    list(whole.run(2))
    resumed.state = resumed.state.restored(1, arrays)
    list(resumed.run(2))
    assert torch.equal(resumed.state.positions, whole.state.positions)
    assert torch.equal(resumed.state.velocities, whole.state.velocities)


@IMPLICIT
@pytest.mark.parametrize("speed", [1e-3, 1e-4, 1e-6])
def test_bodies_that_touch_begin_as_slowly_as_they_are_told(integrator, speed) -> None:
    velocity = (speed, 0.0, 0.0)
    near = cube("Near", (0.0, 0.0, SIDE + 5e-4), velocity=velocity)
    simulator = flying([cube("Lower", velocity=velocity), near], integrator)
    start = momenta(simulator).sum(axis=0)
    for _ in simulator.run(3):
        np.testing.assert_allclose(momenta(simulator).sum(axis=0), start, atol=1e-6 * start[0])
    moved = simulator.state.positions - simulator.system.initial_positions
    mean = (moved * simulator.system.mass).sum(dim=1) / simulator.system.mass.sum()
    assert float(mean[0]) == pytest.approx(speed * 3.0 / 24.0, rel=1e-5)


@pytest.mark.parametrize("divisions", [1, 2, truncated_motion.MAX_DIVISIONS])
def test_what_follows_a_plate_that_is_stopped_is_stopped_too(monkeypatch, divisions: int) -> None:
    monkeypatch.setattr(truncated_motion, "MAX_DIVISIONS", divisions)
    floor = Collider(box_corners((-1.0, -1.0, -0.1), (2.0, 2.0, 0.1)), BOX_TRIANGLES)
    plate = box_corners((-0.2, -0.2, 0.13), (0.4, 0.4, 0.01))
    way = np.arange(5)[:, None, None] * np.array([0.0, 0.0, -0.25])
    size = (0.1, 0.1, 0.1)
    pressed = cube("Pressed", (0.0, 0.0, 0.052), size=size, young=2e4, cells=(1, 1, 1))
    # Farther behind the plate than anything looks that moves along with it.
    followers = [
        cube(
            f"Follower {k}",
            (0.0, 0.0, 0.21 + 0.12 * k),
            size,
            2e4,
            cells=(1, 1, 1),
            velocity=(0.0, 0.0, -60.0),
        )
        for k in range(3)
    ]
    bodies, colliders = [pressed, *followers], [floor, Collider(plate + way, BOX_TRIANGLES)]
    steps = {"frame_time": 1.0 / 240.0, "substeps": 6}
    simulator = flying(bodies, SymplecticEuler(), colliders, **steps)
    truncated = [frame.report.solver_statistics.truncated_vertices for frame in simulator.run(4)]
    assert max(truncated) > 8
