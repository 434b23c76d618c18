# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of points that move nothing, for want of the file or of what is in it, are told."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from supple.addon import runs
from supple.addon.reports import ignored
from supple.addon.worker import session

from ..rigs import alembic_cache, mdd_cache, pc2_cache


@pytest.fixture
def body(add_body) -> bpy.types.Object:
    obj = add_body()
    obj.vertex_groups.new(name="Pins").add([0, 1], 1.0, "REPLACE")
    obj.supple.pin_group = "Pins"
    return obj


def told() -> list[str]:
    bpy.context.view_layer.update()
    return [line for line in ignored.messages(bpy.context) if "moves nothing" in line]


CACHES = {"MDD": mdd_cache, "PC2": pc2_cache, "Alembic": alembic_cache}


@pytest.mark.parametrize("add", CACHES.values(), ids=CACHES)
def test_a_file_that_is_gone_is_told_by_object_modifier_and_file(body, add):
    add(body)
    assert told() == []
    (modifier,) = body.modifiers
    owner = modifier if modifier.type == "MESH_CACHE" else modifier.cache_file
    path = Path(owner.filepath)
    path.unlink()
    (line,) = told()
    assert line.startswith(
        f"Cube: the modifier {modifier.name} moves nothing, since its file {path} is not there."
    )
    modifier.show_viewport = False
    assert told() == []


def test_it_is_told_before_a_run(body, monkeypatch):
    monkeypatch.setattr(session, "start", lambda *_: None)
    pc2_cache(body)
    Path(body.modifiers[0].filepath).unlink()
    warnings = runs.Simulation(bpy.context).warnings
    assert sum("moves nothing, since its file" in line for line in warnings) == 1


def test_a_path_beside_the_file_is_found(body, tmp_path):
    pc2_cache(body)
    cache = Path(body.modifiers[0].filepath)
    cache.rename(tmp_path / cache.name)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    body.modifiers[0].filepath = f"//{cache.name}"
    assert told() == []
    body.modifiers[0].filepath = "//other.pc2"
    assert f"its file {tmp_path / 'other.pc2'} is not there" in told()[0]


@pytest.mark.parametrize("kind", ["MESH_CACHE", "MESH_SEQUENCE_CACHE"])
def test_one_without_a_file_is_told(body, kind):
    body.modifiers.new("Cache", kind)
    assert told() == [
        "Cube: the modifier Cache moves nothing, since no file is chosen. Choose one, or remove it."
    ]


def test_points_of_another_mesh_are_told(body):
    pc2_cache(body)
    body.data.vertices.add(1)
    (line,) = told()
    assert "points.pc2 has 8 points and the mesh 9 vertices" in line


def test_a_file_of_another_format_is_told(body):
    pc2_cache(body)
    Path(body.modifiers[0].filepath).write_bytes(b"ply\nformat ascii 1.0\nelement")
    assert "points.pc2 is no PC2 file" in told()[0]


def test_an_object_that_a_file_does_not_have_is_told(body):
    alembic_cache(body)
    body.modifiers[0].object_path = ""
    assert "points.abc has no object ''. Choose one under Object Path." in told()[0]
    body.modifiers[0].object_path = "/Cube/Cube"
    bpy.context.scene.frame_set(2)
    assert told() == []
    body.modifiers[0].object_path = "/Cube/Ball"
    assert "points.abc has no object '/Cube/Ball'" in told()[0]


def test_colliders_and_constraints_are_looked_at_too(body):
    bpy.ops.mesh.primitive_plane_add()
    floor = bpy.context.object
    floor.supple.collider = True
    floor.modifiers.new("Waves", "MESH_CACHE").filepath = "/nowhere/waves.pc2"
    bpy.ops.object.empty_add()
    body.parent = floor.parent = carrier = bpy.context.object
    constraint = carrier.constraints.new("TRANSFORM_CACHE")
    lines = told()
    assert len(lines) == 2
    assert lines[0].startswith("Plane: the modifier Waves moves nothing, since its file /nowhere")
    assert lines[1].startswith("Empty: the constraint Transform Cache moves nothing, since no file")
    constraint.enabled = floor.modifiers[0].show_viewport = False
    assert told() == []
