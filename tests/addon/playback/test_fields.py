# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorded fields of a run, as Blender draws them."""

from __future__ import annotations

import shutil

import bpy
import numpy as np
import pytest

from supple.addon import actions, command_line, ids
from supple.addon.capture.scene import capture
from supple.addon.panels.solver import SUPPLE_PT_fields
from supple.addon.playback import fields
from supple.addon.playback.fields import find_view, title
from supple.addon.playback.mesh_cache import shown_folder
from supple.core.errors import SuppleError
from supple.core.job import Job
from supple.core.job.skin_fields import SkinField
from supple.core.results import RESULTS

from ..layout import drawn

LAST = 3


@pytest.fixture
def recorded(scene, add_body, play):
    """Two cubes; stretch and speed of each tet and vertex are its number times the frame."""

    def begin() -> tuple[Job, list[bpy.types.Object]]:
        scene.supple.results = {"stretch", "speed"}
        objects = [add_body("One"), add_body("Other", location=(4, 0, 0))]
        job, _ = play(0)
        meshes = [body.mesh for body in job.tet_scene.bodies]
        counts = {
            "stretch": sum(len(mesh.tets) for mesh in meshes),
            "speed": sum(len(mesh.vertices) for mesh in meshes),
        }
        for index in range(LAST + 1):
            values = {n: np.arange(count, dtype=np.float32) * index for n, count in counts.items()}
            job.write_fields(index, values)
        play(LAST)
        # By their place in the job.
        names = [body.name for body in job.tet_scene.bodies]
        return job, sorted(objects, key=lambda obj: names.index(obj.name))

    return begin


def shown(obj: bpy.types.Object, name: str) -> np.ndarray:
    """The (V,) values that Blender draws of a field."""
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    attribute = mesh.attributes[title(name)]
    assert (attribute.domain, attribute.data_type) == ("POINT", "FLOAT")
    values = np.empty(len(mesh.vertices), dtype=np.float32)
    attribute.data.foreach_get("value", values)
    return values


@pytest.mark.parametrize("name", ["stretch", "speed"])
def test_each_frame_shows_its_field_where_the_body_is_seen(scene, recorded, name):
    job, objects = recorded()
    scene.frame_set(2)
    actions.show_field(bpy.context, name)
    for body, obj in enumerate(objects):
        for index in (1, 3, 0):
            scene.frame_set(1 + index)
            np.testing.assert_array_equal(shown(obj, name), SkinField(job, name, body).at(index))
    assert shown(objects[1], name).max() == 0.0
    scene.frame_set(2, subframe=0.5)
    between = 1.5 * SkinField(job, name, 0).at(1)
    np.testing.assert_allclose(shown(objects[0], name), between, rtol=1e-6)
    scene.frame_set(99)
    np.testing.assert_array_equal(shown(objects[0], name), SkinField(job, name, 0).at(LAST))


def test_it_is_there_at_once_and_its_colours_go_over_all_bodies_and_frames(scene, recorded):
    job, objects = recorded()
    scene.frame_set(3)
    message = actions.show_field(bpy.context, "speed")
    np.testing.assert_array_equal(shown(objects[0], "speed"), SkinField(job, "speed", 0).at(2))
    largest = max(SkinField(job, "speed", body).range(LAST)[1] for body in (0, 1))
    node = bpy.data.materials[title("speed")].node_tree.nodes["Range"]
    assert [socket.default_value for socket in node.inputs[1:3]] == pytest.approx([0.0, largest])
    assert message.startswith(f"Speed: 0 … {largest:.3g} m/s.")


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(7.03e-12, 1234.0, "0 … 1.23e+03 Pa"), (0.5, 2.0, "0.5 … 2 Pa"), (-3.0, 0.0, "-3 … 0 Pa")],
)
def test_the_least_of_a_range_is_told_as_0_where_it_is_rounding(scene, low, high, told):
    fields.make("von_mises", low, high)
    assert fields.described_range("von_mises") == told


def test_the_material_is_drawn_and_the_users_own_stay(scene, recorded):
    _, (obj, _) = recorded()
    own = bpy.data.materials.new("Own")
    obj.data.materials.append(own)
    obj.data.attributes.new("mine", "FLOAT", "POINT")
    before = {a.name for a in obj.data.attributes}, [m.name for m in obj.modifiers]
    actions.show_field(bpy.context, "stretch")
    actions.show_field(bpy.context, "speed")
    assert list(obj.data.materials) == [own]
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    drawn_with = {mesh.materials[face.material_index].name for face in mesh.polygons}
    assert drawn_with == {title("speed")}
    assert title("stretch") not in obj.data.attributes
    assert actions.hide_field(bpy.context) == "The fields are hidden."
    assert ({a.name for a in obj.data.attributes}, [m.name for m in obj.modifiers]) == before
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert {mesh.materials[face.material_index].name for face in mesh.polygons} == {"Own"}
    assert not bpy.data.node_groups
    assert list(bpy.data.materials) == [own]


def test_renders_show_them(scene, recorded, tmp_path):
    recorded()
    actions.show_field(bpy.context, "stretch")
    scene.render.engine, scene.cycles.samples = "CYCLES", 1
    scene.render.resolution_x = scene.render.resolution_y = 8
    scene.view_settings.view_transform = "Standard"
    scene.world = bpy.data.worlds.new("White")
    scene.world.color = (1.0, 1.0, 1.0)
    bpy.ops.object.camera_add(location=(0.2, 0.4, 3))
    scene.camera = bpy.context.object
    scene.camera.data.type, scene.camera.data.ortho_scale = "ORTHO", 0.4
    colours = []
    for frame in (1, 3):
        scene.frame_set(frame)
        scene.render.filepath = str(tmp_path / f"{frame}.png")
        bpy.ops.render.render(write_still=True)
        pixels = np.array(bpy.data.images.load(scene.render.filepath).pixels).reshape(8, 8, 4)
        colours.append(pixels[3:5, 3:5, :3].mean(axis=(0, 1)))
    (red, green, _), (later_red, later_green, _) = colours
    # Purple where nothing is, and on to green.
    assert green < 0.9 * red
    assert later_green > 1.1 * later_red


def test_a_bake_shows_them_as_long_as_the_cache_is_there(scene, recorded):
    job, (obj, _) = recorded()
    actions.show_field(bpy.context, "speed")
    actions.bake(bpy.context)
    scene.frame_set(4)
    np.testing.assert_array_equal(shown(obj, "speed"), SkinField(job, "speed", 0).at(3))
    actions.hide_field(bpy.context)
    actions.show_field(bpy.context, "stretch")
    np.testing.assert_array_equal(shown(obj, "stretch"), SkinField(job, "stretch", 0).at(3))
    shutil.rmtree(job.folder)
    fields.forget_fields()
    scene.frame_set(2)
    assert shown(obj, "stretch").max() == 0.0
    assert "shows no Stretch" in fields.problem
    assert fields.problem in [text for _, text in drawn(SUPPLE_PT_fields, obj).texts]
    with pytest.raises(SuppleError, match=r"no longer in .*job"):
        actions.show_field(bpy.context, "stretch")


def test_free_takes_them_away(scene, recorded):
    _, objects = recorded()
    actions.show_field(bpy.context, "speed")
    actions.free(bpy.context)
    assert not any(map(find_view, objects))
    assert title("speed") not in objects[0].data.attributes
    with pytest.raises(SuppleError, match="Nothing is simulated yet"):
        actions.show_field(bpy.context, "speed")


def test_what_was_not_recorded_is_said_and_nothing_changes(scene, recorded, play):
    _, (obj, _) = recorded()
    before = [m.name for m in obj.modifiers]
    with pytest.raises(SuppleError, match="simulated without Von Mises Stress; record it"):
        actions.show_field(bpy.context, "von_mises")
    assert [m.name for m in obj.modifiers] == before
    actions.show_field(bpy.context, "speed")
    scene.supple.results = set()
    play(LAST)
    fields.forget_fields()
    scene.frame_set(3)
    assert "One shows no Speed: The frames were simulated without Speed" in fields.problem
    assert shown(obj, "speed").max() == 0.0


def test_a_mesh_that_is_shared_and_an_attribute_of_the_users_own_are_refused(scene, recorded):
    _, (obj, _) = recorded()
    other = obj.copy()
    with pytest.raises(SuppleError, match=f"The mesh of {obj.name} is linked, or other obj"):
        actions.show_field(bpy.context, "speed")
    bpy.data.objects.remove(other)
    obj.data.attributes.new(title("speed"), "INT", "FACE")
    with pytest.raises(SuppleError, match="already has an attribute Supple Speed"):
        actions.show_field(bpy.context, "speed")
    assert obj.data.attributes[title("speed")].data_type == "INT"


def test_showing_them_changes_nothing_that_is_simulated(scene, recorded):
    _, (obj, _) = recorded()
    before = capture(bpy.context)
    actions.show_field(bpy.context, "speed")
    after = capture(bpy.context)
    assert after.fingerprint == before.fingerprint
    assert after.objects[0].fingerprint == before.objects[0].fingerprint
    np.testing.assert_array_equal(
        after.scene.bodies[0].mesh.vertices, before.scene.bodies[0].mesh.vertices
    )
    assert find_view(obj).show_viewport


def test_what_is_recorded_is_simulated_and_shown(scene, add_body, solver_here):
    obj = add_body()
    obj.supple.damping = 0.0
    scene.supple.results = {"speed", "von_mises"}
    actions.simulate(bpy.context)
    job = Job(shown_folder(scene))
    assert job.settings.results == ("von_mises", "speed")
    actions.show_field(bpy.context, "speed")
    scene.frame_set(4)
    # It falls.
    np.testing.assert_allclose(shown(obj, "speed"), 9.81 * 3 / 24, rtol=1e-3)
    assert drawn(SUPPLE_PT_fields, obj).buttons == [ids.SHOW_FIELD, ids.HIDE_FIELD]


def test_menus_and_command_line_offer_every_result(scene):
    for setting in ("results", "field"):
        items = scene.supple.bl_rna.properties[setting].enum_items
        offered = [(item.identifier, item.name, item.description) for item in items]
        assert offered == [(name, row.label, row.description) for name, row in RESULTS.items()]
    parser = command_line.parser("supple", with_file=False)
    options = parser.parse_args(["simulate", "--results", ",".join(reversed(RESULTS))])
    assert options.results == tuple(RESULTS)
    with pytest.raises(SystemExit):
        parser.parse_args(["simulate", "--results", "heat"])


def test_each_result_has_a_tick_of_its_own_in_a_column(scene, add_body):
    body = add_body()
    body.supple.use_plasticity = True
    ticks = [f"record_{name}" for name in RESULTS]
    layout = drawn(SUPPLE_PT_fields, body)
    assert layout.settings == [*ticks, "field"]
    assert layout.labels[:-1] == [row.label for row in RESULTS.values()]
    for name in RESULTS:
        setattr(scene.supple, f"record_{name}", True)
    assert scene.supple.results == set(RESULTS)
    scene.supple.record_stretch = False
    assert scene.supple.results == set(RESULTS) - {"stretch"}
    assert not scene.supple.record_stretch and scene.supple.record_speed


def test_what_cannot_be_recorded_is_greyed_with_the_reason(scene, add_body, monkeypatch):
    body = add_body()

    def reasons() -> list[str]:
        return [text for icon, text in drawn(SUPPLE_PT_fields, body).texts if icon == "INFO"]

    waits = "Nothing is simulated yet. Press Simulate first."
    assert reasons() == ["No soft body has Plasticity.", waits]
    body.supple.use_plasticity = True
    assert reasons() == [waits]
    scene.supple.ground_response = "projection"
    assert reasons()[0].startswith("A bouncy ground has no pressure.")
    scene.supple.ground_response, scene.supple.contact = "barrier", "never"
    assert reasons() == [waits]
    scene.supple.use_ground = False
    assert reasons()[0] == "There is no pressure without ground and contact."
    bpy.ops.object.empty_add(type="SPHERE")
    bpy.context.object.supple.collider = True
    assert reasons()[0].startswith("Without contact, colliders have no pressure. Set Contact to ")


def test_show_field_is_greyed_where_the_result_was_not_recorded(scene, recorded):
    scene.supple.field = "speed"
    assert not bpy.ops.supple.show_field.poll()
    _, (obj, _) = recorded()
    assert bpy.ops.supple.show_field.poll()
    scene.supple.field = "von_mises"
    assert not bpy.ops.supple.show_field.poll()
    reason = "Von Mises Stress was not recorded. Tick it under Record, then simulate again."
    assert ("INFO", reason) in drawn(SUPPLE_PT_fields, obj).texts
