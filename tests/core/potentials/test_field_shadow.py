# SPDX-License-Identifier: GPL-3.0-or-later
"""Test absorbers between bodies and a force field."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Absorber, Channel, ForceField, Scene, Simulator, SoftBody, TetMesh
from supple.core.geometry.triangle_loops import crossing
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.kernels.broad_phase import LEAF_SIZE
from supple.core.kernels.force_fields import is_blocked
from supple.core.potentials.field_laws import FieldLaw, FieldShadow, _Caster

TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
FRAME = 1.0 / 24.0


def wall(height: float = 1.0, absorption=0.7, size: float = 0.5, **settings) -> Absorber:
    """A square across the vertical."""
    corners = size * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    return Absorber(corners + np.array([0.0, 0.0, height]), TRIANGLES, absorption, **settings)


def pushes(points, absorbers, frame: int = 0, **settings) -> np.ndarray:
    """The (N, 3) accelerations in m/s² by a field at the origin."""
    at = torch.as_tensor(np.array(points, dtype=float).T.copy())
    field = ForceField(**{"kind": "force", "strength": 4.0, "is_absorbed": True, **settings})
    law = FieldLaw(field, at, FieldShadow(absorbers, at[0]) if absorbers else None)
    parameters = torch.as_tensor(field.parameters.samples[0])
    law.begin_frame(parameters, at, frame)
    return law(parameters, at).push.T.numpy()


# Above the wall, between it and the source, beside it, and on the other side of the source.
POINTS = [(0.1, 0.2, 2.0), (0.1, 0.2, 0.9), (1.2, 0.0, 2.0), (0.1, 0.2, -2.0)]


@pytest.mark.parametrize("kind", ["force", "wind", "charge", "turbulence", "harmonic"])
def test_what_a_wall_stands_before_gets_what_it_lets_past(kind) -> None:
    settings = {"kind": kind, "size": 1.0}
    shaded, free = pushes(POINTS, [wall()], **settings), pushes(POINTS, [], **settings)
    assert np.linalg.norm(free, axis=1).min() > 1e-3
    np.testing.assert_allclose(shaded, np.array([[0.3], [1], [1], [1]]) * free, rtol=1e-12)


def test_what_knows_no_falloff_is_absorbed_as_a_whole_or_not_at_all() -> None:
    """As in Blender."""
    settings = {"kind": "lennard_jones", "size": 1.0}
    free = pushes(POINTS, [], **settings)
    np.testing.assert_array_equal(pushes(POINTS, [wall()], **settings), free)
    shaded = pushes(POINTS, [wall(absorption=1.0)], **settings)
    np.testing.assert_array_equal(shaded, np.array([[0], [1], [1], [1]]) * free)


def test_velocities_are_taken_away_less_there() -> None:
    at = torch.tensor([[0.0, 0.0], [0.0, 0.0], [2.0, 0.5]], dtype=torch.float64)
    field = ForceField("wind", 0.0, flow=2.0, is_absorbed=True)
    law = FieldLaw(field, at, FieldShadow([wall()], at[0]))
    parameters = torch.as_tensor(field.parameters.samples[0])
    law.begin_frame(parameters, at, 0)
    np.testing.assert_allclose(law(parameters, at).rate, [0.6, 2.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [
        ("point", (0.0, 0.0, 1.0), [0.3, 1.0]),
        ("line", (0.0, 0.0, 1.0), [1.0, 1.0]),
        ("line", (1.0, 0.0, 0.0), [0.3, 1.0]),
        ("plane", (0.0, 0.0, 1.0), [0.3, 1.0]),
        ("plane", (1.0, 0.0, 0.0), [1.0, 1.0]),
    ],
)
def test_the_way_goes_to_the_nearest_point_of_the_source(shape, axis, expected) -> None:
    points = [(0.3, 0.2, 2.0), (1.3, 0.2, 2.0)]
    shaded, free = (
        np.linalg.norm(pushes(points, walls, shape=shape, axis=axis), axis=1)
        for walls in ([wall()], [])
    )
    np.testing.assert_allclose(shaded / free, expected, rtol=1e-12)


def test_a_field_in_decimetres_is_shaded_where_one_in_metres_is() -> None:
    shaded, free = pushes(POINTS, [wall()], unit=0.1), pushes(POINTS, [], unit=0.1)
    np.testing.assert_allclose(shaded, np.array([[0.3], [1], [1], [1]]) * free, rtol=1e-12)


def test_several_take_their_part_one_after_the_other_and_each_once() -> None:
    first, second, third = wall(0.5, 0.2), wall(0.7, 0.5), wall(0.9, 0.0)
    np.testing.assert_allclose(
        pushes([(0, 0, 2)], [first, second, third]), 0.4 * pushes([(0, 0, 2)], [])
    )
    both = Absorber(
        np.concatenate([first.vertices.at(0), second.vertices.at(0)]),
        np.concatenate([TRIANGLES, TRIANGLES + 4]),
        0.5,
    )
    np.testing.assert_allclose(pushes([(0, 0, 2)], [both]), 0.5 * pushes([(0, 0, 2)], []))


def test_walls_that_move_and_absorption_that_is_keyed_count_frame_by_frame() -> None:
    heights = np.array([[1.0], [3.0], [1.0]])
    samples = wall(0.0).vertices.at(0) + np.array([0.0, 0.0, 1.0]) * heights[:, None]
    moving = Absorber(samples, TRIANGLES, Channel(np.array([0.7, 0.7, 0.1])))
    free = pushes([(0, 0, 2)], [])
    for frame, share in enumerate((0.3, 1.0, 0.9, 0.9)):
        np.testing.assert_allclose(pushes([(0, 0, 2)], [moving], frame), share * free)


def test_a_tree_finds_what_each_triangle_by_itself_would() -> None:
    rng = np.random.default_rng(3)
    count = 12 * LEAF_SIZE
    corners = rng.normal(size=(count, 1, 3)) + 0.3 * rng.normal(size=(count, 3, 3))
    faces = np.arange(3 * len(corners), dtype=np.int32).reshape(-1, 3)
    tree = _Caster(Absorber(corners.reshape(-1, 3), faces))._tree(0)
    # Some of them along axes.
    starts, ends = 2.0 * rng.normal(size=(2, 400, 3))
    ends[:100, 0], ends[100:200, 1:] = starts[:100, 0], starts[100:200, 1:]
    found = [is_blocked(start, end, tree) for start, end in zip(starts, ends, strict=True)]
    expected = [
        any(crossing(start, end, triangle)[1] != 0.0 for triangle in corners)
        for start, end in zip(starts, ends, strict=True)
    ]
    assert found == expected
    assert 50 < sum(found) < 350


# In a scene


def blown(absorber: Absorber, name: str = "Fan", is_absorbed: bool = True) -> Scene:
    """A tet above the source, in wind."""
    corners = np.array([[0.0, 0, 2], [0.1, 0, 2], [0, 0.1, 2], [0, 0, 2.1]])
    field = ForceField("wind", 3.0, axis=(1.0, 0.0, 0.0), name=name, is_absorbed=is_absorbed)
    bodies = [SoftBody(TetMesh(corners, [[0, 1, 2, 3]]))]
    return Scene(bodies, gravity=(0.0, 0.0, 0.0), forces=[field], absorbers=[absorber])


def speed(simulator: Simulator, frames: int) -> float:
    *_, last = simulator.run(frames)
    return float(last.velocities[0][:, 0].mean())


# It begins to move after a frame and is out of the way after two.
LEAVING = Absorber(
    wall(0.0).vertices.at(0) + np.array([[[0.0, 0, 1]], [[0, 0, 1]], [[5.0, 0, 1]], [[5.0, 0, 1]]]),
    TRIANGLES,
    0.75,
    name="Wall",
)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler(1e-9)])
def test_what_arrives_when_a_frame_begins_is_what_pushes_throughout_it(integrator) -> None:
    """v = S t, a quarter of it in the first two frames."""
    simulator = Simulator(blown(LEAVING), integrator, frame_time=FRAME, device="cpu")
    assert speed(simulator, 4) == pytest.approx(3.0 * FRAME * (2 * 0.25 + 2), rel=1e-6)


@pytest.mark.parametrize("settings", [{"is_absorbed": False}, {"name": "Wall"}])
def test_a_field_that_is_not_absorbed_or_stands_there_itself_passes(settings) -> None:
    simulator = Simulator(blown(LEAVING, **settings), SymplecticEuler(), frame_time=FRAME)
    assert speed(simulator, 2) == pytest.approx(3.0 * 2 * FRAME, rel=1e-6)


def test_a_run_that_is_gone_on_with_comes_to_the_same_bits() -> None:
    scene = blown(LEAVING)
    whole = Simulator(scene, SymplecticEuler(), frame_time=FRAME, device="cpu")
    part = Simulator(scene, SymplecticEuler(), frame_time=FRAME, device="cpu")
    list(part.run(1))
    resumed = Simulator(scene, SymplecticEuler(), frame_time=FRAME, device="cpu")
    resumed.go_on_from(part.state)
    assert speed(resumed, 2) == speed(whole, 3)
