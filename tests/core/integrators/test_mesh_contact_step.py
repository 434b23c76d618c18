# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole simulations in which bodies touch in explicit steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Contact, Ground, Scene, SceneError, Simulator, SoftBody, Sphere
from supple.core.geometry.embedding import embed
from supple.core.integrators import ImplicitEuler, Midpoint, RungeKutta4, SymplecticEuler
from supple.core.integrators.contact_failures import DivergedStepError
from supple.core.integrators.explicit_stepper import ExplicitStepper
from supple.core.kernels.barrier import surface_force
from supple.core.kernels.contact_constraints import GROUND
from supple.core.materials import StableNeoHookean
from supple.core.potentials.height_floor import FLOOR_RATIO, HeightRatios
from supple.core.scene.contact_settings import ContactSurface
from supple.core.simulator import Frame
from supple.core.state import State
from supple.tests.core.touching import plate
from supple.verification.meshes import block, irregular_block
from supple.verification.scene_intersections import scene_intersections
from supple.verification.wedges import tiles

SOFT, STIFFER = StableNeoHookean(1e4, 0.3), StableNeoHookean(1e5, 0.3)
WEIGHTLESS = (0.0, 0.0, 0.0)
STEPS = [SymplecticEuler(), Midpoint(), RungeKutta4()]
GRAVITY = 9.81


def checked(simulator: Simulator, frames: int) -> Iterator[Frame]:
    """Frames in which nothing intersects, by exact arithmetic."""
    for frame in simulator.run(frames):
        assert scene_intersections(simulator) == 0
        yield frame


def meeting(**options) -> Scene:
    """Two blocks of different shape in free space, one of which hits the other off its centre."""
    lower = irregular_block((2, 2, 2))
    upper = block((2, 2, 2), (0.7, 0.6, 0.5), (0.35, 0.3, 1.1))
    bodies = [
        SoftBody(lower, SOFT, velocity=(0.1, 0.0, 0.5)),
        SoftBody(upper, SOFT, velocity=(0.0, 0.05, -2.0)),
    ]
    return Scene(bodies, gravity=WEIGHTLESS, contact=Contact(**options))


def stepper_of(simulator: Simulator) -> ExplicitStepper:
    assert isinstance(simulator.stepper, ExplicitStepper)
    return simulator.stepper


def momenta(simulator: Simulator) -> np.ndarray:
    """(2, 3) linear and angular, in kg m/s and kg m²/s."""
    state, mass = simulator.state, simulator.system.mass.numpy()
    points, velocities = state.positions.numpy().T, state.velocities.numpy().T
    impulses = mass[:, None] * velocities
    return np.stack([impulses.sum(0), np.cross(points, impulses).sum(0)])


@pytest.mark.parametrize("integrator", STEPS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_bodies_that_hit_each_other_keep_their_momenta(integrator, friction: float) -> None:
    simulator = Simulator(meeting(friction=friction), integrator)
    before = momenta(simulator)
    contacts = [frame.report.solver_statistics.contacts for frame in checked(simulator, 10)]
    assert max(contacts) > 0
    after = momenta(simulator)
    np.testing.assert_allclose(after[0], before[0], atol=1e-10 * np.abs(before[0]).max())
    # Forces act along the line between closest points, but where surfaces slide past each other.
    np.testing.assert_allclose(after[1], before[1], atol=2e-3 * np.abs(before).max())


def test_what_bounces_off_keeps_its_wobble() -> None:
    ratios = {}
    for integrator in (SymplecticEuler(), ImplicitEuler()):
        simulator = Simulator(meeting(friction=0.0), integrator)
        before = simulator.system.energies(simulator.state)
        list(simulator.run(12))
        after = simulator.system.energies(simulator.state)
        ratios[type(integrator).__name__] = (after.kinetic + after.elastic) / before.kinetic
    # What is lost is what vertices bring along that stop at a surface.
    assert 0.7 < ratios["SymplecticEuler"] < 1.001
    assert ratios["ImplicitEuler"] < 0.5


def resting(**options) -> Scene:
    body = SoftBody(block((2, 2, 2), (1.0, 1.0, 0.5), (0.0, 0.0, 0.004)), STIFFER, damping=8.0)
    return Scene([body], contact=Contact(distance=0.01), **options)


@pytest.mark.parametrize("where", ["collider", "ground", "both"])
def test_what_lies_somewhere_presses_with_its_weight(where: str) -> None:
    options: dict = {}
    if where != "ground":
        options["colliders"] = [plate(0.0)]
    if where != "collider":
        options["ground"] = Ground(distance=0.01)
    simulator = Simulator(resting(**options), SymplecticEuler())
    *_, frame = checked(simulator, 40)
    assert float(frame.velocities[0].abs().max()) < 1e-3
    contact = stepper_of(simulator).contact
    assert contact is not None
    own, count = contact._constraints, contact._count
    kinds, dhats = own.kinds[:count], own.dhats[:count]
    ratios = own.distances[:count] / dhats
    of_surfaces = [surface_force(min(u, 1.0))[0] for u in ratios]
    of_ground = [(u - 1.0) * (2.0 * math.log(u) + 1.0 - 1.0 / u) * (u < 1.0) for u in ratios]
    sizes = own.scales[:count] / dhats * np.where(kinds == GROUND, of_ground, of_surfaces)
    weight = float(simulator.system.mass.sum()) * GRAVITY
    np.testing.assert_allclose(sizes @ own.normals[:count], [0.0, 0.0, weight], atol=5e-3 * weight)
    if where != "ground":
        assert 0.0 < frame.report.solver_statistics.minimum_distance < 0.01


def on_slope(friction: float, kinetic: float | None = None) -> Scene:
    """A block on a plate that lies level, where gravity is tilted by one in two."""
    angle = math.atan(0.5)
    pull = (GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle))
    body = SoftBody(
        block((2, 2, 1), (0.4, 0.4, 0.1), (0.0, 0.0, 6e-4)),
        StableNeoHookean(1e5, 0.3),
        stiffness_damping=5e-3,
    )
    contact = Contact(distance=1e-3, friction=friction, kinetic_friction=kinetic)
    return Scene([body], gravity=pull, colliders=[plate(0.0, 3.0)], contact=contact)


def test_a_block_on_a_slope_sticks_as_coulomb_has_it() -> None:
    frames = list(checked(Simulator(on_slope(0.8), SymplecticEuler()), 16))
    assert float(frames[-1].positions[0][:, 0].mean()) - 0.2 < 2e-3
    assert float(frames[-1].velocities[0].abs().max()) < 1e-4


@pytest.mark.parametrize(("friction", "kinetic"), [(0.2, None), (0.45, 0.3)])
def test_a_block_on_a_slope_slides_as_coulomb_has_it(
    friction: float, kinetic: float | None
) -> None:
    simulator = Simulator(on_slope(friction, kinetic), SymplecticEuler())
    speeds = [float(frame.velocities[0][:, 0].mean()) for frame in checked(simulator, 16)]
    angle, slides = math.atan(0.5), friction if kinetic is None else kinetic
    expected = GRAVITY * (math.sin(angle) - slides * math.cos(angle))
    found = (speeds[-1] - speeds[3]) / (12 / 24)
    assert found == pytest.approx(expected, rel=0.02)


def test_a_plate_that_moves_pushes_and_its_work_is_known() -> None:
    heights = [-0.03 + 0.02 * k for k in range(13)]
    moving = plate(0.0, 3.0, np.array([[0.0, 0.0, height] for height in heights]))
    body = SoftBody(block((2, 2, 2)), SOFT)
    scene = Scene([body], gravity=WEIGHTLESS, colliders=[moving], contact=Contact(friction=0.0))
    simulator = Simulator(scene, SymplecticEuler())
    worked = 0.0
    for frame in checked(simulator, 12):
        prepared = stepper_of(simulator)._prepared
        assert prepared is not None
        worked += float(prepared[0].work)
        assert frame.positions[0][:, 2].min() > heights[frame.index]
    # What goes at one speed gives as much work as momentum times that.
    pushed = momenta(simulator)[0, 2]
    assert worked == pytest.approx(0.02 * 24 * pushed, rel=1e-9)
    after = simulator.system.energies(simulator.state)
    assert 0.8 * worked < after.kinetic + after.elastic < worked


def test_pins_that_move_push_what_they_meet_and_end_where_they_are_told() -> None:
    lower, upper = block((1, 1, 1)), block((2, 2, 2), (0.6, 0.6, 0.4), (0.2, 0.2, 1.02))
    top = np.flatnonzero(lower.vertices[:, 2] == 1.0)
    rising = lower.vertices[top] + np.array([[0.0, 0.0, 0.03 * k] for k in range(7)])[:, None]
    bodies = [SoftBody(lower, SOFT, pinned=top, pin_path=rising), SoftBody(upper, SOFT)]
    scene = Scene(bodies, gravity=WEIGHTLESS, contact=Contact())
    for frame in checked(Simulator(scene, SymplecticEuler()), 6):
        np.testing.assert_array_equal(frame.positions[0][top].numpy(), rising[frame.index])
    assert frame.positions[1][:, 2].min() > 1.0 + 0.03 * 6


def test_seen_surfaces_touch_in_place_of_tetrahedra() -> None:
    scene = meeting()
    for body in scene.bodies:
        middle = body.mesh.vertices.mean(axis=0)
        points = middle + 0.8 * (body.mesh.vertices - middle)
        own = ContactSurface(points, body.mesh.surface, embed(body.mesh, points))
        body.contact_surface = own
    simulator = Simulator(scene, SymplecticEuler())
    found = list(checked(simulator, 10))
    contacts = [frame.report.solver_statistics.contacts for frame in found]
    assert max(contacts) > 0
    # Tetrahedra come nearer than their surfaces by what those are smaller.
    plain = list(Simulator(meeting(), SymplecticEuler()).run(10))
    first = [
        frames.index(True)
        for frames in (
            [bool(c) for c in contacts],
            [frame.report.solver_statistics.contacts > 0 for frame in plain],
        )
    ]
    assert first[0] > first[1]


def least_height_ratio(simulator: Simulator, frame: Frame) -> float:
    meshes = zip(simulator.system.meshes, frame.positions, strict=True)
    gradients = [at.numpy()[mesh.tets].swapaxes(1, 2) @ mesh.shape_gradients for mesh, at in meshes]
    return min(float(HeightRatios(f).values.min()) for f in gradients)


def test_tets_are_not_pressed_flat_where_bodies_are_squeezed() -> None:
    scene = meeting(friction=0.0)
    bodies = [
        replace(body, velocity=tuple(2.5 * v for v in body.velocity)) for body in scene.bodies
    ]
    least, flattest = [], []
    for without in (False, True):
        simulator = Simulator(replace(scene, bodies=bodies), SymplecticEuler())
        if without:
            contact = stepper_of(simulator).contact
            assert contact is not None
            contact._tets = contact._motion._tets = []
        frames = list(checked(simulator, 4))
        least.append(min(frame.report.minimum_volume_ratio for frame in frames))
        flattest.append(min(least_height_ratio(simulator, frame) for frame in frames))
    assert least[0] > 0.1 > 0.0 > least[1]
    assert flattest[0] > 0.5 * FLOOR_RATIO > 0.0 > flattest[1]


@pytest.mark.parametrize("frames", [1, 3, 5])
def test_a_saved_state_goes_on_to_the_same_bits(frames: int) -> None:
    whole, resumed = (Simulator(meeting(), SymplecticEuler()) for _ in range(2))
    list(whole.run(frames))
    arrays = {name: values.copy() for name, values in whole.state.to_arrays().items()}
    *_, expected = whole.run(3)
    resumed.state = resumed.state.restored(frames, arrays)
    *_, found = resumed.run(3)
    assert torch.equal(torch.cat(found.positions), torch.cat(expected.positions))


def test_the_original_formulation_serves_where_its_stiffness_is_given() -> None:
    options = {"formulation": "original", "distance": 0.01}
    with pytest.raises(SceneError, match=r"cannot adapt the stiffness .*, or the method Conv"):
        Simulator(meeting(**options), SymplecticEuler())
    simulator = Simulator(meeting(stiffness=1e9, **options), SymplecticEuler())
    assert max(frame.report.solver_statistics.contacts for frame in checked(simulator, 8)) > 0


def test_spheres_and_bouncy_ground_are_refused_beside_contact_in_words() -> None:
    for scene in (
        replace(meeting(), ground=Ground(-1.0, response="projection")),
        replace(meeting(), colliders=[Sphere((0.0, 0.0, -3.0), 1.0)]),
    ):
        with pytest.raises(SceneError, match="beside spheres or a bouncy ground"):
            Simulator(scene, SymplecticEuler())


@pytest.mark.parametrize("integrator", STEPS, ids=lambda each: type(each).__name__)
def test_a_collider_and_the_ground_hold_a_body_between_them(integrator) -> None:
    """The body lies on the ground while a plate comes down on it."""
    heights = [1.02 - 0.04 * k for k in range(9)]
    press = plate(0.0, 3.0, np.array([[0.0, 0.0, height] for height in heights]))
    body = SoftBody(block((2, 2, 2), origin=(0.0, 0.0, 0.004)), SOFT)
    scene = Scene([body], Ground(), colliders=[press], contact=Contact())
    for frame in checked(Simulator(scene, integrator), 8):
        heights_of_body = frame.positions[0][:, 2]
        assert 0.0 < heights_of_body.min() < heights_of_body.max() < heights[frame.index]


def test_inner_edges_of_a_floor_do_not_brake_what_slides_over_them() -> None:
    cube = block((2, 2, 2), (0.1, 0.1, 0.1), (-0.15, -0.05, 1e-3))
    body = SoftBody(cube, StableNeoHookean(5e4, 0.4), velocity=(1.0, 0.0, 0.0))
    floor = tiles(16, 0.05)
    simulator = Simulator(
        Scene([body], colliders=[floor], contact=Contact(friction=0.0)), SymplecticEuler()
    )
    began = momenta(simulator)[0, 0]
    *_, frame = checked(simulator, 5)
    assert frame.report.solver_statistics.contacts > 0
    assert momenta(simulator)[0, 0] > 0.98 * began


def far_above_a_floor(speed: float) -> Simulator:
    cube = block((2, 2, 2), (0.1, 0.1, 0.1), (0.0, 0.0, 1.0))
    body = SoftBody(cube, StableNeoHookean(5e4, 0.4), velocity=(speed, 0.0, 0.0))
    scene = Scene([body], colliders=[tiles(2, 0.05)], gravity=WEIGHTLESS, contact=Contact())
    return Simulator(scene, SymplecticEuler())


def steps_of_a_frame(speed: float, stretch: float) -> tuple[int, int]:
    """The steps of a cube far above a floor, and those that bodies at rest take."""
    simulator = far_above_a_floor(speed)
    simulator.state.positions[0] *= stretch
    (frame,) = checked(simulator, 1)
    return frame.report.substeps, stepper_of(simulator).substeps


def test_a_frame_takes_twice_the_steps_where_bodies_go_farther_than_contacts_reach() -> None:
    # d̂ of the cube is 0.5 mm, and 27 steps of 41.7 ms / 27 make 0.15 mm at 0.1 m/s.
    slow, at_rest = steps_of_a_frame(0.1, 1.0)
    assert slow == at_rest
    assert steps_of_a_frame(9.0, 1.0) == (2 * at_rest, at_rest)


def test_a_frame_takes_more_steps_where_bodies_are_stretched_but_no_more_than_twice() -> None:
    steps, at_rest = steps_of_a_frame(0.0, 1.7)
    assert at_rest < steps <= 2 * at_rest


def test_deformed_bodies_take_the_steps_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = far_above_a_floor(0.0)
    stepper = stepper_of(simulator)
    longest = simulator.system.frame_times.of(0) / (1.5 * stepper.substeps)
    monkeypatch.setattr(stepper, "_deformed_step", lambda positions: longest)
    assert stepper._substeps(simulator.state) == math.ceil(1.5 * stepper.substeps)


def test_what_has_flowed_flat_takes_the_steps_it_needs_beside_contact_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulator = Simulator(meeting(), SymplecticEuler())
    stepper = stepper_of(simulator)
    flow = type(simulator.system.plastic_flow)
    monkeypatch.setattr(flow, "frequency_ratio", property(lambda _: 5.0))
    flowed = replace(simulator.state, plastic=torch.zeros(0))
    assert stepper._substeps(flowed) == 5 * stepper.substeps


def test_the_most_work_of_a_frame_with_contact_is_that_of_all_its_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulator = Simulator(meeting(), SymplecticEuler())
    stepper, tried = stepper_of(simulator), list[int]()

    def diverge(start: State) -> None:
        tried.append(start.substeps)
        raise DivergedStepError("explicit steps diverge")

    monkeypatch.setattr(stepper, "_frame", diverge)
    with pytest.raises(DivergedStepError):
        list(simulator.run(1))
    # Half as many were tried before each, down to the number that the frame began with.
    assert stepper.most_work == f"{2 * tried[-1]} substeps"
    assert sum(tried) <= 2 * tried[-1]
