# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that suit an object, and what is reported of how it sags."""

from __future__ import annotations

import math
from unittest.mock import Mock

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from supple.addon import ids
from supple.addon.capture.scene import capture
from supple.addon.capture.surfaces import vertex_coordinates
from supple.addon.modifiers import MODIFIER, find_modifier
from supple.addon.panels.body import SUPPLE_PT_material
from supple.addon.panels.solver import SUPPLE_PT_solver_advanced
from supple.addon.properties import suited
from supple.core import Simulator
from supple.core.materials.presets import PRESETS

from ..layout import drawn
from ..rigs import key

G = 9.81


@pytest.fixture
def cube(scene: bpy.types.Scene) -> bpy.types.Object:
    scene.supple.ground_height = 0.0
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, 3))
    return bpy.context.object


def sag(obj: bpy.types.Object) -> str:
    bpy.context.view_layer.update()
    return suited.sag_message(bpy.context.scene, obj)[0]


def test_the_box_at_rest_follows_edits_and_reads_no_mesh_twice(cube, monkeypatch):
    mesh_cache = cube.modifiers.new(MODIFIER, "MESH_CACHE")
    assert find_modifier(cube) == mesh_cache
    read = Mock(side_effect=vertex_coordinates)
    monkeypatch.setattr(suited, "vertex_coordinates", read)
    suited.forget()
    for _ in range(3):
        np.testing.assert_allclose(np.ptp(suited.rest_box(cube), axis=0), 1.0)
    assert read.call_count == 1
    cube.data.transform(Matrix.Scale(2.0, 4))
    cube.data.update()
    bpy.context.view_layer.update()
    np.testing.assert_allclose(np.ptp(suited.rest_box(cube), axis=0), 2.0)


@pytest.mark.parametrize("size", [0.01, 1.0, 10.0])
def test_a_new_body_is_as_stiff_as_its_size_wants(cube, size):
    cube.scale = (size, size, size)
    bpy.ops.supple.add()
    assert cube.supple.young == pytest.approx(5.0 * 1000.0 * G * size, rel=0.05)
    assert sag(cube) == "Sags by about 10% of its height."


@pytest.mark.parametrize("size", [0.01, 1.0, 10.0])
def test_the_slowest_wobble_of_a_new_body_loses_as_much_at_any_size(cube, size):
    cube.scale = (size, size, size)
    bpy.ops.supple.add()
    props = cube.supple
    shear_modulus = props.young / (2.0 * (1.0 + props.poisson))
    rate = 0.5 * math.pi / size * math.sqrt(shear_modulus / props.density)
    assert props.viscosity * rate / shear_modulus == pytest.approx(0.02, rel=0.05)


def test_modifiers_and_units_count(scene, cube):
    scene.unit_settings.scale_length = 0.1
    scene.gravity = (0.0, 0.0, -G / 0.1)
    cube.modifiers.new("Row", "ARRAY").relative_offset_displace = (0, 0, 1)
    bpy.ops.supple.add()
    # 0.2 m high and 0.1 m wide: it has to be stiffer, or it would fall aside.
    assert cube.supple.young == pytest.approx(3.06 * 1000.0 * G * 0.2 * 4, rel=0.05)


def test_without_gravity_the_earths_counts_and_nothing_is_reported(scene, cube):
    scene.use_gravity = False
    bpy.ops.supple.add()
    assert cube.supple.young == pytest.approx(49000.0)
    assert sag(cube) == ""


def test_what_was_set_before_stays(cube):
    props = cube.supple
    props.young, props.resolution, props.viscosity = 1e5, 9, 0.0
    bpy.ops.supple.add()
    assert (props.young, props.resolution, props.viscosity) == (1e5, 9, 0.0)


def test_removing_and_adding_keeps_what_is_there(cube):
    bpy.ops.supple.add()
    bpy.ops.supple.remove()
    cube.scale = (2, 2, 2)
    bpy.ops.supple.add()
    assert cube.supple.young == pytest.approx(49000.0)


def test_a_body_of_an_older_file_has_what_its_file_says(add_body):
    props = add_body().supple
    assert not props.is_property_set("young")
    assert props.young == 1e5


def test_suzanne_is_filled_as_finely_as_ever(scene):
    bpy.ops.mesh.primitive_monkey_add(size=2.0, location=(0, 0, 3))
    monkey = bpy.context.object
    monkey.modifiers.new("Subdivision", "SUBSURF").levels = 2
    bpy.ops.supple.add()
    assert 12 <= monkey.supple.resolution <= 13
    assert 8e4 < monkey.supple.young < 1.1e5


def test_a_cube_has_fewer_cells_along_its_side_than_what_is_long(scene, cube):
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(5, 0, 3))
    bar = bpy.context.object
    bar.scale = (10, 1, 1)
    cube.select_set(True)
    bpy.ops.supple.add()
    assert cube.supple.resolution == 6
    assert bar.supple.resolution == 29


def test_what_has_no_faces_keeps_the_general_defaults(scene):
    bpy.ops.object.add(type="MESH")
    obj = bpy.context.object
    obj.supple.enabled = True
    suited.suit(bpy.context, [obj])
    assert not obj.supple.is_property_set("young")
    with pytest.raises(RuntimeError, match="has no faces"):
        bpy.ops.supple.suit_young()


def test_buttons_set_them_anew_for_all_that_are_chosen(cube):
    bpy.ops.supple.add()
    bpy.ops.mesh.primitive_cube_add(size=2.0, location=(5, 0, 3))
    other = bpy.context.object
    bpy.ops.supple.add()
    cube.select_set(True)
    for obj in (cube, other):
        obj.supple.density, obj.supple.young, obj.supple.resolution = 100.0, 7.0, 40
    bpy.context.view_layer.update()
    assert bpy.ops.supple.suit_young() == {"FINISHED"}
    assert bpy.ops.supple.suit_resolution() == {"FINISHED"}
    assert cube.supple.young == pytest.approx(4900.0)
    assert other.supple.young == pytest.approx(9800.0)
    assert cube.supple.resolution == other.supple.resolution == 6


def test_buttons_need_a_soft_body(cube):
    assert not bpy.ops.supple.suit_young.poll()
    assert not bpy.ops.supple.suit_resolution.poll()


def test_the_panels_show_how_it_sags_and_the_buttons(cube):
    bpy.ops.supple.add()
    bpy.context.view_layer.update()
    layout = drawn(SUPPLE_PT_material, cube)
    assert ("INFO", "Sags by about 10% of its height.") in layout.texts
    assert ids.SUIT_YOUNG in layout.buttons
    assert ids.SUIT_RESOLUTION in drawn(SUPPLE_PT_solver_advanced, cube).buttons
    cube.supple.young = 1e3
    assert ("ERROR", "Too soft for its size: it will collapse.") in drawn(
        SUPPLE_PT_material, cube
    ).texts
    cube.supple.young = 1e9
    assert ("INFO", "Hardly sags: it will look rigid.") in drawn(SUPPLE_PT_material, cube).texts


def test_what_is_reported_while_it_plays_is_of_its_rest_shape(scene, add_body, play):
    obj = add_body()
    before = sag(obj)
    play(3, wobble=True)
    scene.frame_set(3)
    assert sag(obj) == before
    obj.scale = (2, 2, 2)
    assert sag(obj) != before


def test_what_stands_on_a_body_does_so_while_it_plays(scene, play):
    low, _ = tower((0.5, 1.5))
    bpy.ops.supple.add()
    play(3, wobble=True)
    for frame in (1, 3):
        scene.frame_set(frame)
        suited.forget()
        assert suited.load_on(scene, low).mass == pytest.approx(1000.0)


def test_an_edit_of_one_mesh_has_no_other_read_again(scene, monkeypatch):
    low, _ = tower((0.5, 1.5))
    bpy.ops.supple.add()
    bpy.ops.mesh.primitive_cube_add(location=(5, 0, 0))
    other = bpy.context.object
    suited.loads(scene)
    read = Mock(side_effect=vertex_coordinates)
    monkeypatch.setattr(suited, "vertex_coordinates", read)
    for edited, count in ((other, 0), (low, 1)):
        edited.data.transform(Matrix.Scale(0.99, 4))
        edited.data.update()
        bpy.context.view_layer.update()
        suited.loads(scene)
        assert read.call_count == count


def test_a_preset_says_what_size_it_is_made_for(cube, capfd):
    bpy.ops.supple.add()
    bpy.ops.supple.apply_preset(preset="gelatine_dessert", size="real")
    output = capfd.readouterr().out
    assert "Cube will collapse: this material holds its shape up to 8.8 cm." in output
    bpy.ops.supple.apply_preset(preset="silicone", size="real")
    assert "Too soft" not in capfd.readouterr().out
    items = bpy.ops.supple.apply_preset.get_rna_type().properties["preset"].enum_items
    assert items["silicone"].description.startswith(
        "Sags by a tenth of its height when it is 2.2 m high."
    )


@pytest.mark.parametrize("name", PRESETS)
def test_of_the_height_a_preset_is_made_for_a_cube_sags_by_a_tenth(cube, name):
    size = PRESETS[name].tenth_sag_height
    cube.scale = (size, size, size)
    bpy.ops.supple.add()
    bpy.ops.supple.apply_preset(preset=name, size="real")
    cube.supple.use_plasticity = False
    assert sag(cube) == "Sags by about 10% of its height."


def test_suzanne_sags_by_about_a_tenth(scene):
    """Laid so that she does not tip over: upright she has several poses to lie in. Her height is
    compared with that of one a hundred times as stiff."""
    bpy.ops.mesh.primitive_monkey_add(
        size=2.0, location=(0, 0, 2), rotation=(0.5 * np.pi, 0.0, 0.0)
    )
    monkey = bpy.context.object
    bpy.ops.supple.add()
    monkey.supple.resolution = 5
    heights = []
    for factor in (1.0, 100.0):
        monkey.supple.young *= factor
        scene.supple.ground_height = 0.0
        described = capture(bpy.context).scene
        heights.append(float(Simulator(described).settle().positions[0][:, 2].max()))
    assert 0.05 < 1.0 - heights[0] / heights[1] < 0.2


def test_a_flat_body_that_is_far_too_soft_lies_down(cube):
    cube.scale = (1, 1, 0.05)
    bpy.ops.supple.add()
    young = cube.supple.young
    for factor, message in ((0.4, "Sags by about 26%"), (0.25, "Too soft for its size")):
        cube.supple.young = factor * young
        assert sag(cube).startswith(message)


def test_what_jiggles_does_not_sag_and_keeps_the_stiffness_of_its_speed(cube, capfd):
    key(cube, "location", ((0, 0, 3), (1, 0, 3), (1, 0, 3)))
    bpy.ops.supple.jiggle()
    cube.supple.young = 100.0
    assert sag(cube) == ""
    assert ids.SUIT_YOUNG not in drawn(SUPPLE_PT_material, cube).buttons
    bpy.ops.supple.suit_young()
    assert cube.supple.young == 100.0
    assert "Cube jiggles, and its stiffness" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("factor", "message"),
    [(1.0, "sag by about 10% of its height"), (0.01, "lie down"), (100.0, "hardly sag")],
)
def test_of_what_is_held_the_sag_is_that_of_standing_free(cube, factor, message):
    bpy.ops.supple.add()
    cube.supple.young *= factor
    cube.vertex_groups.new(name="Top")
    cube.supple.pin_group = "Top"
    bpy.context.view_layer.update()
    shown = suited.sag_message(bpy.context.scene, cube)
    assert shown == (f"Standing free, it would {message}.", False)


def test_of_what_gives_way_for_good_no_elastic_sag_is_told(cube):
    bpy.ops.supple.add()
    bpy.ops.supple.apply_preset(preset="clay")
    assert sag(cube) == ""


@pytest.fixture
def bar(scene: bpy.types.Scene) -> bpy.types.Object:
    """A bar of 2 m with a vertex group at one of its ends."""
    scene.supple.ground_height = -5.0
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=20, y_subdivisions=2, size=2.0)
    bar = bpy.context.object
    bar.data.transform(Matrix.Diagonal((1.0, 0.15, 1.0, 1.0)))
    bar.modifiers.new("Thick", "SOLIDIFY").thickness = 0.3
    bpy.ops.object.modifier_apply(modifier="Thick")
    ends = [vertex.index for vertex in bar.data.vertices if vertex.co.x < -0.999]
    bar.vertex_groups.new(name="End").add(ends, 1.0, "REPLACE")
    return bar


def bend(obj: bpy.types.Object) -> float:
    """The largest sag of a body at rest over its length."""
    described = capture(bpy.context).scene
    simulator = Simulator(described)
    start = simulator.frame().positions[0]
    return float((simulator.settle().positions[0] - start).norm(dim=1).max()) / 2.0


def test_a_bar_pinned_at_one_end_bends_visibly_and_not_absurdly(bar):
    bar.supple.pin_group = "End"
    bpy.ops.supple.add()
    bar.supple.resolution = 14
    assert 0.06 < bend(bar) < 0.3
    assert sag(bar) == "Bends by about 15% of its free length."


def test_pins_of_a_later_day_count_before_a_run(scene, bar, solver_here):
    bpy.ops.supple.add()
    free = bar.supple.young, bar.supple.viscosity
    bar.supple.pin_group, bar.supple.resolution, scene.frame_end = "End", 5, 2
    assert bpy.ops.supple.simulate() == {"FINISHED"}
    pinned = bar.supple.young
    # ρ g A L⁴ / 8 E I is 0.15 of the length.
    assert pinned == pytest.approx(12.0 * 1000.0 * G * 8.0 / (8.0 * 0.3**2 * 0.15), rel=0.25)
    assert bar.supple.viscosity > 2.0 * free[1]
    bar.supple.pin_group = ""
    bpy.ops.supple.simulate()
    assert (bar.supple.young, bar.supple.viscosity) == free


def test_a_stiffness_that_somebody_has_typed_stays(scene, bar, solver_here):
    bpy.ops.supple.add()
    bar.supple.young, bar.supple.pin_group = 3e5, "End"
    bar.supple.resolution, scene.frame_end = 5, 2
    bpy.ops.supple.simulate()
    assert bar.supple.young == 3e5


def test_neither_density_nor_gravity_make_a_stiffness_follow(cube):
    bpy.ops.supple.add()
    before = cube.supple.young
    cube.supple.density = 3000.0
    assert suited.refresh(bpy.context, 1) == []
    assert cube.supple.young == before


def tower(heights: tuple[float, ...], **arguments) -> list[bpy.types.Object]:
    cubes = []
    for height in heights:
        bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, height), **arguments)
        cubes.append(bpy.context.object)
    for each in cubes:
        each.select_set(True)
    return cubes


def test_what_stands_below_carries_what_stands_on_top(scene):
    scene.supple.ground_height = 0.0
    low, middle, top = tower((0.5, 1.5, 2.5))
    bpy.ops.supple.add()
    alone, young = 5.0 * 1000.0 * G, [each.supple.young for each in (low, middle, top)]
    column = [24.0 * 1000.0 * G * height**3 / 7.837 for height in (3.0, 2.0)]
    assert young == pytest.approx([*column, alone], rel=0.03)


def test_a_body_that_comes_on_top_later_counts(scene):
    scene.supple.ground_height = 0.0
    (low,) = tower((0.5,))
    bpy.ops.supple.add()
    alone = low.supple.young
    low.select_set(False)
    (top,) = tower((1.5,))
    bpy.ops.supple.add()
    assert low.supple.young > 3.0 * alone and top.supple.young == alone
    top.location.z = 4.0
    bpy.context.view_layer.update()
    (message,) = suited.refresh(bpy.context, 1)
    assert message.startswith("Cube: Stiffness was set to")
    assert low.supple.young == alone


@pytest.mark.parametrize(
    ("place", "share"), [((0.0, 0.0, 1.5), 1.0), ((0.0, 0.0, 1.6), 0.0), ((1.05, 0.0, 1.5), 0.0)]
)
def test_only_what_touches_from_above_is_a_load(scene, place, share):
    (low,) = tower((0.5,))
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=place)
    for obj in (low, bpy.context.object):
        obj.supple.enabled = True
    bpy.context.view_layer.update()
    assert suited.load_on(scene, low).mass == pytest.approx(1000.0 * share)
    assert suited.load_on(scene, low).height == pytest.approx(share)


def test_what_falls_beside_others_stands_on_none_of_them(scene):
    """The box around a tilted body begins where that around another one ends, and that is all."""
    (low,) = tower((0.5,))
    bpy.ops.mesh.primitive_cube_add(size=1.0, rotation=(0.7, 0.5, 0.0))
    tilted = bpy.context.object
    bpy.context.view_layer.update()
    box = np.array([tilted.matrix_world @ Vector(corner) for corner in tilted.bound_box])
    below = box[box[:, 2].argmin()]
    for obj in (low, tilted):
        obj.supple.enabled = True
    # With its lowest corner in the middle of the other's top it stands there, beside it not.
    for aside, share in ((0.0, 1.0), (0.7, 0.0)):
        tilted.location = (-below[0] + aside, -below[1], 1.0 - below[2])
        bpy.context.view_layer.update()
        assert suited.load_on(scene, low).mass == pytest.approx(1000.0 * share)


def test_a_ball_stands_on_a_plate_with_its_lowest_part(scene):
    (low,) = tower((0.5,))
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=3, radius=0.5, location=(0.3, 0.3, 1.5))
    ball = bpy.context.object
    for obj in (low, ball):
        obj.supple.enabled = True
    bpy.context.view_layer.update()
    assert suited.load_on(scene, low).mass == pytest.approx(1000.0 * math.pi / 6.0, rel=0.05)
    ball.location.x = 0.8
    bpy.context.view_layer.update()
    assert suited.load_on(scene, low).mass == 0.0


def test_the_foot_of_a_body_is_that_of_its_modifiers(scene):
    """An array of cubes stands on posts of which only one is below the first cube."""
    posts = tower((0.5,)) + tower((0.5,))
    posts[1].location.x = 3.0
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, 1.5))
    beam = bpy.context.object
    beam.modifiers.new("Array", "ARRAY").count = 4
    for obj in (*posts, beam):
        obj.supple.enabled = True
    bpy.context.view_layer.update()
    masses = [suited.load_on(scene, post).mass for post in posts]
    assert masses[0] == masses[1] > 0.0


def test_copies_are_equally_stiff_however_they_lie(scene):
    turns = [(0.0, 0.0, 0.0), (1.2, 0.3, 0.0), (0.4, 1.5, 0.8)]
    bodies = []
    for number, (turn, scale) in enumerate(
        zip([*turns, turns[1]], (1.0, 1.0, 1.0, 2.0), strict=True)
    ):
        bpy.ops.mesh.primitive_cube_add(location=(9.0 * number, 0, 20), rotation=turn)
        bodies.append(bpy.context.object)
        bodies[-1].scale = (scale, scale, 4.0 * scale)
    alone = []
    for body in bodies:
        bpy.context.view_layer.update()
        bpy.ops.object.select_all(action="DESELECT")
        body.select_set(True)
        bpy.ops.supple.add()
        alone.append(body.supple.young)
        bpy.ops.supple.remove()
        body.supple.property_unset("young")
        body.supple.property_unset("viscosity")
    assert len(set(alone)) == 4
    for body in bodies:
        body.select_set(True)
    bpy.ops.supple.add()
    youngs = [body.supple.young for body in bodies]
    assert youngs == [sorted(alone[:3])[1]] * 3 + [alone[3]]
    assert len({body.supple.viscosity for body in bodies[:3]}) == 1
    assert all(suited.is_automatic(body) for body in bodies)
    assert suited.refresh(bpy.context, 1) == []


def test_a_beam_on_two_posts_loads_each_by_half(scene):
    posts = tower((0.5,)) + tower((0.5,))
    posts[0].location.x, posts[1].location.x = -1.5, 1.5
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, 1.5))
    beam = bpy.context.object
    beam.scale.x = 4.0
    for obj in (*posts, beam):
        obj.supple.enabled = True
    bpy.context.view_layer.update()
    masses = [suited.load_on(scene, post).mass for post in posts]
    assert masses == pytest.approx([2000.0, 2000.0])
    beam.supple.pin_group = "Held"
    assert [suited.load_on(scene, post).mass for post in posts] == [0.0, 0.0]
