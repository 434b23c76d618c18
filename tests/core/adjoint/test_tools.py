# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from supple.core import (
    Collider,
    Contact,
    Ground,
    InstabilityError,
    Scene,
    SceneError,
    Simulator,
    Skin,
    SoftBody,
)
from supple.core.adjoint import hit_target, match_shape, sag_free
from supple.core.adjoint.implicit_run import TransposedSolve
from supple.core.geometry.embedding import embed
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block

BAR = block((3, 1, 1), (0.3, 0.1, 0.1))
HELD = np.flatnonzero(BAR.vertices[:, 0] < 1e-9)
CUBE = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.03))


def bar(young: Any) -> Scene:
    return Scene([SoftBody(BAR, StableNeoHookean(young, 0.4), pinned=HELD)])


def test_a_beam_keeps_the_shape_that_it_was_modelled_in() -> None:
    scene = bar(2e4)
    sagged = Simulator(scene, device="cpu").settle().positions[0].numpy()
    assert abs(sagged - BAR.vertices).max() > 0.05
    result = sag_free(scene)
    found = Simulator(result.scene, device="cpu").settle().positions[0].numpy()
    np.testing.assert_allclose(found, BAR.vertices, atol=1e-5)
    frames = [*Simulator(result.scene, device="cpu").run(2)]
    assert abs(frames[-1].positions[0].numpy() - BAR.vertices).max() < 1e-5
    assert result.distance < 1e-5 and result.is_stable
    np.testing.assert_array_equal(result.scene.bodies[0].mesh.vertices[HELD], BAR.vertices[HELD])


def test_what_would_buckle_in_the_shape_that_it_keeps_is_said() -> None:
    """On the way there the start shape has a Hessian that is not positive."""
    shelf = block((4, 1, 1), (0.4, 0.1, 0.1))
    held = np.flatnonzero(shelf.vertices[:, 0] < 1e-9)
    result = sag_free(Scene([SoftBody(shelf, StableNeoHookean(1.2e4, 0.4), pinned=held)]))
    assert result.distance < 1e-5 and not result.is_stable


def test_whether_a_shape_is_stable_is_solved_for_only_where_it_is_asked(monkeypatch) -> None:
    solve = Mock(side_effect=TransposedSolve.solve)
    monkeypatch.setattr(TransposedSolve, "solve", lambda *given: solve(*given))
    result = sag_free(bar(2e4))
    assert solve.call_count == 0
    assert result.is_stable and result.is_stable and solve.call_count == 1


def test_what_stands_on_the_ground_keeps_its_shape_too() -> None:
    cube = block((2, 2, 2), (0.2, 0.2, 0.2), (0.0, 0.0, 0.0015))
    held = np.flatnonzero(cube.vertices[:, 0] < 1e-9)
    ground = Ground(friction=0.0, distance=0.002)
    scene = Scene([SoftBody(cube, StableNeoHookean(2e4, 0.4), pinned=held)], ground=ground)
    assert sag_free(scene).distance < 1e-5


def test_nothing_keeps_the_shape_of_what_nothing_holds() -> None:
    held, falling = bar(2e4).bodies[0], SoftBody(BAR, name="Falling")
    for bodies in ([falling], [held, falling]):
        with pytest.raises(InstabilityError, match=r"^Falling: nothing holds it.*Pin some"):
            sag_free(Scene(bodies))


def test_friction_would_hide_how_a_body_came_there() -> None:
    with pytest.raises(SceneError, match="friction"):
        sag_free(Scene(bar(2e4).bodies, ground=Ground(-1.0)))


def over_a_table(height: float) -> Scene:
    """A bar that is held at one end."""
    corners = np.array([[-1.0, -1.0, height], [1.0, -1.0, height], [0.0, 1.0, height]])
    table = Collider(corners, [[0, 1, 2]], friction=0.0, name="Table")
    body = replace(bar(2e4).bodies[0], friction=0.0, name="Bar")
    return Scene([body], colliders=[table], contact=Contact(friction=0.0, distance=0.005))


def test_a_body_that_a_collider_is_near_keeps_its_shape() -> None:
    scene = over_a_table(float(BAR.vertices[:, 2].min()) - 0.006)
    # What would sag would lie on it.
    assert sag_free(scene).distance < 1e-5


def test_what_touches_is_refused_since_no_rest_shape_says_how_hard_it_is_pushed() -> None:
    scene = over_a_table(float(BAR.vertices[:, 2].min()) - 0.003)
    with pytest.raises(SceneError, match=r"Bar, Table: surfaces are in contact .*Attach the body"):
        sag_free(scene)


def thrown(velocity: tuple[float, float, float], spin: tuple[float, float, float]) -> Scene:
    body = SoftBody(CUBE, StableNeoHookean(2e4), velocity=velocity, angular_velocity=spin)
    return Scene([body], ground=Ground(friction=0.3, distance=0.002))


def test_a_throw_hits_its_target_after_a_bounce() -> None:
    shown = [*Simulator(thrown((1.0, 0.3, -1.2), (0, 0, 0)), device="cpu", substeps=2).run(4)]
    assert min(frame.report.minimum_ground_distance or 1.0 for frame in shown) < 0.002
    weights = CUBE.lumped_mass(1000.0)

    def place(positions: torch.Tensor) -> Any:
        return weights @ positions.numpy() / weights.sum()

    target = place(shown[-1].positions[0])
    begun = thrown((0.6, 0.0, -0.8), (0.0, 0.0, 0.0))
    throw = hit_target(begun, target, 4, substeps=2)
    assert throw.hits and throw.runs <= 30
    last = [*Simulator(throw.scene, device="cpu", substeps=2).run(4)][-1]
    way = np.linalg.norm(target - place(torch.as_tensor(CUBE.vertices)))
    assert np.linalg.norm(place(last.positions[0]) - target) < 0.01 * way


def test_a_spin_may_be_what_brings_a_corner_there() -> None:
    """In free space, where the mass of the cube goes straight."""
    begun = SoftBody(CUBE, StableNeoHookean(1e6), velocity=(0.1, 0.0, 0.0))
    scene = Scene([begun], gravity=(0, 0, 0))
    target = CUBE.vertices[7] + np.array([0.02, -0.03, 0.01])
    throw = hit_target(scene, target, 2, vertices=[7], with_spin=True)
    assert throw.hits and any(throw.angular_velocity)


def test_what_cannot_be_reached_is_said() -> None:
    throw = hit_target(thrown((0.0, 0.0, -1.0), (0, 0, 0)), (0.0, 0.0, -0.5), 2, max_runs=6)
    assert not throw.hits and throw.distance > 0.4 and throw.runs <= 6


def test_targets_are_checked() -> None:
    scene = thrown((0, 0, -1), (0, 0, 0))
    with pytest.raises(SceneError, match="three finite numbers"):
        hit_target(scene, (0.0, np.nan, 0.0), 2)
    with pytest.raises(SceneError, match="frame 1 or later"):
        hit_target(scene, (0.0, 0.0, 1.0), 0)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"vertices": [8]}, "lies outside 0 … 7"),
        ({"vertices": [-1]}, "lies outside 0 … 7"),
        ({"vertices": []}, "one or more vertices, or 8 weights"),
        ({"weights": [1.0]}, "8 weights"),
        ({"weights": np.zeros(8)}, "sum is not zero"),
        ({"body": 2}, "There is no body 2"),
    ],
)
def test_what_is_to_hit_a_target_is_checked(what: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        hit_target(thrown((0.0, 0.0, 1.0), (0, 0, 0)), (0.1, 0.0, 0.1), 2, **what)


def animation(young: Any) -> list[Any]:
    return [f.positions[0].numpy() for f in Simulator(bar(young), device="cpu").run(4)]


def test_the_stiffness_of_an_animation_is_found() -> None:
    match = match_shape(bar(1e4), animation(6e4))
    np.testing.assert_allclose(match.young, [6e4], rtol=0.01)
    assert match.distance < 1e-5 and match.losses[0] > 100 * match.distance


@pytest.mark.parametrize("rounding", [np.float64, np.float32])
def test_a_body_in_the_shape_already_keeps_its_stiffness_after_one_run(rounding: type) -> None:
    shapes = [shape.astype(rounding) for shape in animation(2e4)]
    match = match_shape(bar(2e4), shapes)
    np.testing.assert_allclose(match.young, [2e4], rtol=1e-12)
    assert len(match.losses) == 1


@pytest.mark.parametrize("height", [1e9, 1e5])
def test_a_target_that_no_throw_reaches_is_refused_at_once(height: float) -> None:
    with pytest.raises(SceneError, match=r"m away. To be there at frame 12, the body would need"):
        hit_target(thrown((0.0, 0.0, 1.0), (0, 0, 0)), (0.0, 0.0, height), 12)


def test_the_stiffness_of_two_regions_is_found() -> None:
    regions = (BAR.vertices[BAR.tets].mean(axis=1)[:, 0] > 0.15).astype(int)
    match = match_shape(bar(2e4), animation(np.where(regions, 9e4, 4e4)), regions=regions)
    np.testing.assert_allclose(match.young, [4e4, 9e4], rtol=0.05)
    np.testing.assert_array_equal(match.scene.bodies[0].material.young, match.young[regions])


def test_shapes_are_checked() -> None:
    with pytest.raises(SceneError, match=r"shape 0 is an array of the shape \(2, 3\)"):
        match_shape(bar(1e4), [np.zeros((2, 3))])
    with pytest.raises(SceneError, match="shape 0 is not finite"):
        match_shape(bar(1e4), [np.full(BAR.vertices.shape, np.nan)])


def test_a_fall_does_not_tell_of_the_stiffness() -> None:
    scene = Scene([SoftBody(BAR, StableNeoHookean(1e4))])
    fall = [f.positions[0].numpy() + 0.1 for f in Simulator(scene, device="cpu").run(1)]
    with pytest.raises(InstabilityError, match="do not depend on the stiffness"):
        match_shape(scene, fall)


def test_the_share_of_two_stiffnesses_in_each_tet_is_kept() -> None:
    along = BAR.vertices[BAR.tets].mean(axis=1)[:, 0] / 0.3
    shares = np.stack([along, 1.0 - along], axis=1)
    wanted = np.array([9e4, 3e4])
    match = match_shape(bar(shares @ [5e4, 5e4]), animation(shares @ wanted), regions=shares)
    np.testing.assert_allclose(match.young, wanted, rtol=0.05)


def test_what_is_seen_of_a_body_may_be_what_is_matched_at_some_frames() -> None:
    points = np.array([[0.3, 0.05, 0.05], [0.2, 0.1, 0.02]])
    skin = Skin(points, embedding=embed(BAR, points))
    wanted: list[Any] = [skin.embedding.interpolate(each) for each in animation(6e4)]
    begun = replace(bar(2e4).bodies[0], skin=skin)
    heard: list[tuple[float, float]] = []
    match = match_shape(
        Scene([begun]), [None, *wanted[1:]], on_skin=True, observe=lambda *now: heard.append(now)
    )
    np.testing.assert_allclose(match.young, [6e4], rtol=0.01)
    assert tuple(loss for loss, _ in heard) == match.losses
    with pytest.raises(SceneError, match="no frame has a shape"):
        match_shape(Scene([begun]), [None], on_skin=True)


def test_a_search_is_heard_of_and_ended() -> None:
    heard: list[tuple[float, float]] = []
    result = sag_free(bar(2e4), observe=lambda *now: heard.append(now))
    assert heard[-1][1] == 1.0 and heard[-1][0] < 1e-5 < heard[0][0] and result.distance < 1e-5

    def stop(distance: float, done: float) -> None:
        assert distance > 0.0 and done == pytest.approx(1 / 30)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hit_target(thrown((0.0, 0.0, -1.0), (0, 0, 0)), (0.1, 0.0, 0.1), 2, observe=stop)


def test_a_mean_of_vertices_may_be_weighed() -> None:
    scene = Scene([SoftBody(CUBE, StableNeoHookean(1e6))], gravity=(0, 0, 0))
    target = CUBE.vertices[7] + np.array([0.02, -0.03, 0.01])
    weights = np.zeros(len(CUBE.vertices))
    weights[7] = 2.0
    throw = hit_target(scene, target, 2, weights=weights)
    np.testing.assert_allclose(throw.velocity, np.array([0.02, -0.03, 0.01]) * 12.0, rtol=0.01)
