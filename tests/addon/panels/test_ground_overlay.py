# SPDX-License-Identifier: GPL-3.0-or-later
"""The pieces of ground and fluid that viewports draw; that they do is seen in a real window."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest

from supple.addon.panels.ground_overlay import Patch, patches


def all_seen(with_overlays: bool = True) -> list[Patch]:
    bpy.context.view_layer.update()
    space = SimpleNamespace(overlay=SimpleNamespace(show_overlays=with_overlays))
    context: Any = SimpleNamespace(
        scene=bpy.context.scene, view_layer=bpy.context.view_layer, space_data=space
    )
    return patches(context)


def seen(with_overlays: bool = True) -> Patch | None:
    return next(iter(all_seen(with_overlays)), None)


def test_the_ground_is_drawn_where_there_is_one_with_a_body_and_overlays(scene, add_body):
    assert seen() is None
    add_body()
    assert seen() is not None
    assert seen(with_overlays=False) is None
    scene.supple.use_ground = False
    assert seen() is None


def test_it_lies_at_the_height_of_the_ground_around_all_bodies(scene, add_body):
    add_body(location=(2.0, 0.0, 0.0))
    add_body(location=(-1.0, 5.0, 0.0))
    ground = seen()
    assert ground is not None
    for points in (ground.lines(), ground.triangles()):
        assert {z for _, _, z in points} == {-5.0}
        x, y = ([point[axis] for point in points] for axis in (0, 1))
        assert min(x) < -1.5 and max(x) > 2.5 and min(y) < -0.5 and max(y) > 5.5
        assert (min(x), max(x)) == (ground.across[0], ground.across[-1])
        assert (min(y), max(y)) == (ground.along[0], ground.along[-1])
    assert len(ground.triangles()) == 6
    assert len(ground.lines()) == 2 * (len(ground.across) + len(ground.along))


def test_the_surface_of_the_fluid_is_drawn_at_its_level_in_a_colour_of_its_own(scene, add_body):
    add_body()
    scene.supple.use_fluid, scene.supple.fluid_level = True, 1.5
    ground, fluid = all_seen()
    assert (ground.height, fluid.height) == (-5.0, 1.5)
    assert ground.lines()[0][:2] == fluid.lines()[0][:2] and ground.colour != fluid.colour
    scene.supple.use_ground = False
    assert all_seen() == [fluid]
    assert all_seen(with_overlays=False) == []


def test_its_cells_stay_in_place_while_a_body_is_moved_a_little(add_body):
    body = add_body(location=(0.1, 0.1, 0.0))
    before = seen()
    assert (before.across[0], before.across[-1]) == (-1.5, 1.75)
    assert before.across == before.along
    body.location.x += 0.01
    assert seen() == before


def test_its_cells_are_as_large_while_a_body_is_bent_as_at_rest(scene, add_body, play):
    add_body()
    at_rest = seen()
    play(3, wobble=True)
    scene.frame_set(4)
    bent = seen()
    assert at_rest.across != bent.across, "it goes along with the body"
    assert np.diff(bent.across) == pytest.approx(at_rest.across[1] - at_rest.across[0])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_it_has_a_score_of_lines_whatever_the_size(add_body, size):
    add_body(scale=(size, size, size))
    ground = seen()
    assert ground is not None
    assert 8 <= len(ground.across) <= 20
    assert ground.across[-1] - ground.across[0] > 2.0 * size


def test_a_body_nowhere_hides_it(add_body):
    add_body(location=(float("nan"), 0.0, 0.0))
    assert seen() is None


def test_it_lies_below_a_body_that_is_turned_and_off_its_origin(add_body):
    body = add_body(location=(1.0, 2.0, 0.0))
    for vertex in body.data.vertices:
        vertex.co.x += 6.0
    body.data.update()
    body.rotation_euler.z = math.pi / 2.0
    bpy.context.view_layer.update()
    ground = seen()
    assert ground is not None
    # It goes along y now: 0.5 to 1.5 across, 7.5 to 8.5 along.
    middle = [(side[0] + side[-1]) / 2.0 for side in (ground.across, ground.along)]
    assert middle == pytest.approx([1.0, 8.0], abs=0.25)
    assert len(ground.across) < 20
