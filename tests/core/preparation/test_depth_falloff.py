# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals of a skin that fall off with the depth: the core is held, the surface wobbles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.core import Goals, Scene, SceneError, Simulator, Skin, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.preparation.pose_transfer import depths
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.verification.meshes import block

CELLS, SIDE, WEIGHT = 6, 0.6, 0.1
CUBE = block((CELLS, CELLS, CELLS), (SIDE, SIDE, SIDE), (0.0, 0.0, 0.0))
DEPTH = np.minimum(CUBE.vertices, SIDE - CUBE.vertices).min(axis=1)
ON_SURFACE = np.flatnonzero(DEPTH < 1e-9)
POINTS = CUBE.vertices[ON_SURFACE]


def body(
    path: np.ndarray = POINTS, depth: float | None = 1.0, weights=WEIGHT, mesh: TetMesh = CUBE
) -> SoftBody:
    """The cube, with goals at all points of its surface."""
    goals = Goals(np.arange(len(POINTS)), path, weights, 3.0, sag_free=True, falloff_depth=depth)
    return SoftBody(mesh, StableNeoHookean(2e4, 0.4), skin=Skin(POINTS, goals=goals), name="Cube")


def prepared(given: SoftBody) -> SoftBody:
    scene, _ = tetrahedralize_scene(Scene([given]))
    return scene.bodies[0]


def stiffness(given: SoftBody) -> np.ndarray:
    """(N,) weights of all tet vertices, 1 where one is pinned."""
    found = np.zeros(len(CUBE.vertices))
    assert given.goals is not None
    found[given.goals.vertices] = given.goals.weights
    found[given.pinned] = 1.0
    return found


def turned(points: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = points.T
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.stack([cosine * x - sine * y + 0.2 * angle, sine * x + cosine * y, z], axis=1)


def test_depths_of_a_cube() -> None:
    np.testing.assert_allclose(depths(CUBE), DEPTH, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("depth", [1.0, 0.7, 0.3])
def test_springs_stiffen_with_the_depth_until_they_hold(depth: float) -> None:
    found = prepared(body(depth=depth))
    share = np.minimum(DEPTH / (depth * 0.5 * SIDE), 1.0)
    moves = 1.0 - 3.0 * share**2 + 2.0 * share**3
    held = moves <= WEIGHT
    np.testing.assert_array_equal(np.sort(found.pinned), np.flatnonzero(held))
    np.testing.assert_allclose(stiffness(found)[~held], WEIGHT / moves[~held], rtol=1e-9)
    assert found.skin is not None
    assert found.skin.goals is None
    assert found.goals is not None
    assert found.goals.falloff_depth is None
    assert found.is_sag_free


def test_what_is_soft_at_the_surface_is_softer_below_it() -> None:
    weights = np.where(POINTS[:, 0] < 0.5 * SIDE, 0.5, 0.1)
    found = stiffness(prepared(body(weights=weights)))
    below = np.isclose(DEPTH, SIDE / CELLS)
    left = found[below & (CUBE.vertices[:, 0] < 0.4 * SIDE)]
    right = found[below & (CUBE.vertices[:, 0] > 0.6 * SIDE)]
    np.testing.assert_allclose(left / right.max(), 5.0)


def test_what_is_pinned_at_the_surface_stays_pinned() -> None:
    given = body()
    assert given.skin is not None
    assert given.skin.goals is not None
    held, drawn = np.arange(4), np.arange(4, len(POINTS))
    goals = replace(given.skin.goals, vertices=drawn, targets=POINTS[drawn], weights=WEIGHT)
    found = prepared(replace(given, skin=replace(given.skin, pinned=held, goals=goals)))
    assert set(ON_SURFACE[held]) <= set(found.pinned.tolist())


def test_the_core_stays_on_the_animation_while_the_surface_wobbles() -> None:
    """It turns, too: places inside follow from those of the surface."""
    turns = 0.3 * np.minimum(np.arange(8), 3)
    path = np.stack([turned(CUBE.vertices, angle) for angle in turns])
    sim = Simulator(
        Scene([body(path[:, ON_SURFACE], depth=0.6)]),
        ImplicitEuler(),
        frame_time=1.0 / 24.0,
        device="cpu",
    )
    core, most = np.flatnonzero(DEPTH > 0.6 * 0.5 * SIDE - 1e-9), 0.0
    assert len(core) > 20
    for frame in sim.run(7):
        off = np.linalg.norm(frame.positions[0].numpy() - path[frame.index], axis=1)
        assert off[core].max() < 1e-9
        most = max(most, off[ON_SURFACE].max())
    assert most > 0.02 * SIDE
    rested = sim.settle().positions[0].numpy()
    np.testing.assert_allclose(rested, path[-1], rtol=0.0, atol=1e-8)


def test_what_has_no_inside_is_refused() -> None:
    flat = block((2, 2, 1), (SIDE, SIDE, 0.1), (0.0, 0.0, 0.0))
    goals = Goals([0], flat.vertices[:1], sag_free=True, falloff_depth=0.5)
    skin = Skin(flat.vertices, goals=goals)
    with pytest.raises(
        SceneError, match="Cube: all vertices of its tetrahedra lie on their surface"
    ):
        prepared(replace(body(), mesh=flat, skin=skin))


def test_it_takes_goals_that_are_sag_free_of_a_skin_alone() -> None:
    with pytest.raises(SceneError, match="sag-free"):
        Goals([0], POINTS[:1], falloff_depth=0.5)
    for depth in (0.0, 1.5):
        with pytest.raises(SceneError, match="above 0 and up to 1"):
            Goals([0], POINTS[:1], sag_free=True, falloff_depth=depth)
    tet_goals = Goals([0], CUBE.vertices[:1], sag_free=True, falloff_depth=0.5)
    with pytest.raises(SceneError, match="give the falloff to those of a skin"):
        SoftBody(CUBE, goals=tet_goals)
    both = replace(body(), goals=replace(tet_goals, falloff_depth=None))
    with pytest.raises(SceneError, match="and it has both"):
        prepared(both)
