# SPDX-License-Identifier: GPL-3.0-or-later
"""Resume from Here: frames up to the playhead stay, and later ones have the present settings."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon.playback.mesh_cache import shown_folder

from .conftest import evaluated_positions

LAST = 24


def _shown(obj: bpy.types.Object) -> list[np.ndarray]:
    return [np.array(evaluated_positions(obj, frame)) for frame in range(1, LAST + 1)]


def _same(first: list[np.ndarray], second: list[np.ndarray]) -> int:
    """The number of frames from the first one that are the same."""
    pairs = zip(first, second, strict=True)
    differing = [index for index, (a, b) in enumerate(pairs) if np.abs(a - b).max() > 1e-6]
    return differing[0] if differing else len(first)


@pytest.fixture
def bodies(scene, add_body, solver_here) -> list[bpy.types.Object]:
    """Two falling bodies, simulated."""
    scene.frame_end, scene.supple.use_ground = LAST, False
    pair = [add_body("A"), add_body("B", location=(5, 0, 0))]
    for obj in pair:
        obj.supple.damping = 0.0
    bpy.ops.supple.simulate()
    return pair


def test_frames_up_to_the_last_kept_state_stay(scene, bodies):
    first, second = bodies
    before, other = _shown(first), _shown(second)
    source = shown_folder(scene)
    # Another stiffness and damping, by which the bodies would be in another order.
    first.supple.damping = 5.0
    scene.frame_set(17)
    assert bpy.ops.supple.resume() == {"FINISHED"}
    assert shown_folder(scene) != source
    assert _same(_shown(first), before) == 11 and _same(_shown(second), other) == LAST
    # Once more, from a frame that was resumed.
    resumed = _shown(first)
    second.supple.damping = 9.0
    scene.frame_set(22)
    bpy.ops.supple.resume()
    assert _same(_shown(first), resumed) == LAST and _same(_shown(second), other) == 21
    bpy.ops.supple.simulate()
    assert _same(_shown(first), before) < 11


def test_it_needs_frames_with_a_state_and_the_same_start(scene, bodies):
    scene.frame_set(5)
    with pytest.raises(RuntimeError, match="from which a simulation can go on is 11"):
        bpy.ops.supple.resume()
    scene.frame_set(12)
    scene.frame_start = 2
    with pytest.raises(RuntimeError, match="begin at frame 1, and the frame range now begins at 2"):
        bpy.ops.supple.resume()
    scene.frame_start = 1
    scene.frame_set(LAST)
    with pytest.raises(RuntimeError, match="The playhead is at the end frame"):
        bpy.ops.supple.resume()
    scene.frame_end = LAST + 3
    assert bpy.ops.supple.resume() == {"FINISHED"}
    bpy.ops.supple.free()
    assert not bpy.ops.supple.resume.poll()


def test_other_tetrahedra_are_refused_and_the_frames_stay(scene, bodies):
    first, _ = bodies
    before = _shown(first)
    first.supple.resolution = 5
    scene.frame_set(15)
    with pytest.raises(RuntimeError, match="A has other tetrahedra than in the frames so far"):
        bpy.ops.supple.resume()
    assert _same(_shown(first), before) == LAST
    assert Path(str(shown_folder(scene))).exists()
