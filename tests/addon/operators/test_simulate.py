# SPDX-License-Identifier: GPL-3.0-or-later
"""The display while a window simulates, without a window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import bpy
import numpy as np
import pytest

from supple.addon import examples
from supple.addon.capture.scene import capture
from supple.addon.capture.surfaces import Points
from supple.addon.modifiers import find_modifier
from supple.addon.operators import simulate
from supple.addon.operators.simulate import SUPPLE_OT_simulate
from supple.addon.properties import presets, selection
from supple.addon.reports import ignored, notices

from ..conftest import world_positions


class Window:
    """A window that shows a scene, and takes a step of a simulation of the first."""

    def __init__(self, scene: bpy.types.Scene) -> None:
        self.scene = scene
        self.screen = SimpleNamespace(is_animation_playing=False)
        self.playback = SimpleNamespace(last_shown=scene.frame_current)
        run = SimpleNamespace(
            scene_uid=scene.session_uid, playback=self.playback, first_shown=scene.frame_start
        )
        leads: Any = SUPPLE_OT_simulate._leads_playhead
        again: Any = SUPPLE_OT_simulate._play_again
        self._operator: Any = SimpleNamespace(
            _run=run,
            _playhead=scene.frame_current,
            _has_played=False,
            _play_again=lambda context, newest: again(self._operator, context, newest),
            _leads_playhead=lambda context: leads(self._operator, context),
        )

    def step(self, newest: int) -> int:
        """The position of the playhead when a frame has come."""
        self.playback.last_shown = newest
        show: Any = SUPPLE_OT_simulate.show
        show(self._operator, self)
        return self.scene.frame_current

    def finish(self) -> int:
        """The position of the playhead when the run has ended."""
        show_result: Any = SUPPLE_OT_simulate.show_result
        show_result(self._operator, self)
        return self.scene.frame_current


@pytest.fixture
def window(scene: bpy.types.Scene) -> Window:
    scene.frame_set(1)
    return Window(scene)


def test_the_playhead_goes_along_with_the_newest_frame(window):
    assert [window.step(newest) for newest in (1, 4, 9)] == [1, 4, 9]


def test_the_playhead_stays_where_the_user_puts_it(window):
    window.step(5)
    window.scene.frame_set(3)
    assert [window.step(newest) for newest in (6, 7)] == [3, 3]
    window.scene.frame_set(5)
    assert window.step(8) == 8


def test_the_playhead_is_left_alone_while_the_animation_plays(window):
    window.step(5)
    window.screen.is_animation_playing = True
    assert window.step(6) == 5


def test_the_playhead_of_another_scene_stays(window):
    window.step(5)
    window.scene = bpy.data.scenes.new("Another")
    window.scene.frame_set(5)
    assert window.step(6) == 5


def test_the_playhead_stands_where_stretched_time_plays_the_newest_frame(window):
    window.scene.render.frame_map_new = 50
    assert [window.step(newest) for newest in (4, 9)] == [2, 4]
    assert window.scene.frame_current_final == 8.0


@pytest.fixture
def plays(monkeypatch) -> Mock:
    play = Mock()
    screen = SimpleNamespace(screen=SimpleNamespace(animation_play=play))
    monkeypatch.setattr(simulate, "bpy", SimpleNamespace(ops=screen))
    return play


def test_the_frames_so_far_play_again_and_again_until_the_user_stops_them(window, plays):
    window.scene.supple.play_while_simulating = True
    assert window.step(1) == 1 and plays.call_count == 0
    assert window.step(5) == 1 and plays.call_count == 1
    window.screen.is_animation_playing = True
    window.scene.frame_set(5)
    assert window.step(7) == 5
    window.scene.frame_set(8)
    assert window.step(7) == 1
    window.screen.is_animation_playing = False
    window.scene.frame_set(9)
    assert window.step(7) == 9 and plays.call_count == 1


def test_at_the_end_the_frames_are_played_from_the_first(window, plays):
    window.scene.frame_start = 3
    window.step(9)
    window._operator._run.first_shown = 3
    assert window.finish() == 3
    plays.assert_called_once_with()


def test_at_the_end_nothing_is_played_where_the_user_has_moved_the_playhead(window, plays):
    window.step(9)
    window.scene.frame_set(4)
    assert window.finish() == 4
    window.scene.frame_set(9)
    window.screen.is_animation_playing = True
    assert window.finish() == 9
    plays.assert_not_called()


def test_one_press_makes_jelly_of_the_selected_meshes_alone(scene, solver_here):
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, 4))
    other = bpy.context.object
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube = bpy.context.object
    other.select_set(False)
    assert bpy.ops.supple.quick_jelly() == {"FINISHED"}
    assert presets.label(cube.supple) == "Gelatine Dessert"
    assert len(cube.data.vertices) > 8, "it has to bend visibly"
    assert find_modifier(cube) is not None
    assert not other.supple.enabled


def test_a_body_that_is_soft_already_becomes_jelly(add_body, solver_here):
    body = add_body()
    body.supple.young = 5e6
    bpy.ops.supple.quick_jelly()
    assert presets.label(body.supple) == "Gelatine Dessert"


def test_it_needs_a_mesh(scene):
    bpy.ops.object.light_add()
    with pytest.raises(RuntimeError, match="Select a mesh object"):
        bpy.ops.supple.quick_jelly()


def add(name: str) -> list[bpy.types.Object]:
    """Build an example without simulating it."""
    example, builder = examples.EXAMPLES[name], examples.builder(bpy.context)
    bodies = example.build(builder)
    if bodies:
        selection.make_soft(bpy.context, bodies)
    example.finish(builder, bodies)
    return list(builder.collection.objects)


@pytest.fixture
def ground(scene: bpy.types.Scene) -> bpy.types.Scene:
    scene.supple.ground_height = 0.0
    return scene


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_an_example_can_be_simulated_and_has_nothing_to_complain_about(ground, name):
    objects = add(name)
    captured = capture(bpy.context).scene
    assert len(captured.bodies) == sum(obj.supple.enabled for obj in objects) > 0
    assert len(captured.colliders) == sum(obj.supple.collider for obj in objects)
    texts = [each.text for each in notices.notices(bpy.context)]
    assert [*texts, *ignored.messages(bpy.context)] == []


def test_it_stands_beside_the_meshes_of_the_scene_and_leaves_them_alone(ground):
    bpy.ops.mesh.primitive_cube_add(size=2.0, location=(5.0, 0.0, 0.0))
    cube = bpy.context.object
    objects = add("jelly")
    left = min((obj.matrix_world @ vertex.co).x for obj in objects for vertex in obj.data.vertices)
    assert left > 6.0
    assert not cube.supple.enabled and not cube.supple.collider


def test_it_has_its_size_in_metres_in_any_unit(ground):
    ground.unit_settings.scale_length = 0.01
    (ball,) = [obj for obj in add("clay") if obj.supple.enabled]
    assert np.ptp([vertex.co.x for vertex in ball.data.vertices]) == pytest.approx(100.0, rel=0.02)
    (body,) = capture(bpy.context).scene.bodies
    assert np.ptp(body.mesh.vertices, axis=0) == pytest.approx(1.0, rel=0.02)


def test_an_example_moves(ground, solver_here):
    bpy.ops.supple.add_example(example="jelly")
    jelly = bpy.data.objects["Jelly"]
    assert any(modifier.type == "MESH_CACHE" for modifier in jelly.modifiers)
    assert bpy.context.object == jelly


SECOND = 25  # the frame a second after the first


def rigid_distance(points: Points, moved: Points) -> float:
    """The largest distance of points (V, 3) from where the rigid motion that comes closest takes
    them."""
    centred, around = points - points.mean(axis=0), moved - moved.mean(axis=0)
    left, _, right = np.linalg.svd(centred.T @ around)
    handed = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    return float(np.linalg.norm(centred @ left @ handed @ right - around, axis=1).max())


def affine_distance(points: Points, moved: Points) -> float:
    """The deformation of the closest affine map, which is all that eight corners show."""
    basis = np.column_stack([points, np.ones(len(points))])
    best, *_ = np.linalg.lstsq(basis, moved, rcond=None)
    return float(np.linalg.norm(basis @ best - moved, axis=1).max())


@pytest.mark.parametrize(
    "add", [bpy.ops.mesh.primitive_cube_add, bpy.ops.mesh.primitive_monkey_add]
)
def test_one_press_shows_a_mesh_fall_and_bend_within_a_second(scene, solver_here, add):
    scene.supple.ground_height, scene.frame_end = 0.0, SECOND
    add()
    obj = bpy.context.object
    assert bpy.ops.supple.simulate() == {"FINISHED"}
    start, size = world_positions(obj, 1), 2.0
    path = [world_positions(obj, frame) for frame in range(2, SECOND + 1)]
    falling = [start[:, 2].mean() - points[:, 2].mean() for points in path]
    assert max(falling) > 0.5 * size
    assert max(rigid_distance(start, points) for points in path) > 0.1 * size
    assert max(affine_distance(start, points) for points in path) > 0.02 * size
    lowest = min(points[:, 2].min() for points in path)
    assert lowest == pytest.approx(scene.supple.ground_height, abs=0.01 * size)


def test_a_coarse_mesh_is_subdivided_before_it_is_simulated(scene, solver_here):
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube = bpy.context.object
    bpy.ops.supple.simulate()
    points = np.array([vertex.co for vertex in cube.data.vertices])
    assert len(points) > 500
    np.testing.assert_allclose(np.abs(points).max(axis=1), 0.5, atol=1e-6)


@pytest.mark.parametrize("case", ["refused", "modifier", "shared"])
def test_a_coarse_mesh_stays_where_more_would_change_or_nobody_wants_it(scene, solver_here, case):
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube = bpy.context.object
    if case == "modifier":
        cube.modifiers.new("Bevel", "BEVEL")
    elif case == "shared":
        scene.collection.objects.link(bpy.data.objects.new("Other", cube.data))
    bpy.ops.supple.simulate(subdivide=case != "refused")
    assert len(cube.data.vertices) == 8
