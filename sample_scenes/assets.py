# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the asset library of ready bodies: ``python -m supple.sample_scenes.assets``.

Saved with the oldest Blender that Supple supports, so that all later ones open it.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from ..addon.asset_library import FOLDER
from ..addon.properties import presets
from ..core.materials.presets import PRESETS
from . import bodies, build
from .studio import BLUEBERRY, LEMON, ORANGE, RASPBERRY, jelly, plain, studio

#: The file, and the catalog of all bodies in it.
FILE, CATALOGS = "supple_assets.blend", "blender_assets.cats.txt"
CATALOG = "5f1d6a52-6a0e-4d0f-9f4b-53d1a7a1c0de"
_PREVIEW = 128
_ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Asset:
    """A body to drag in.

    Args:
        make: makes the object, about 1 m high.
        tip: its description in the asset browser.
        preset: its material, with the look of a piece of 10 cm.
        settings: of the body, besides.
    """

    make: Callable[[str], bpy.types.Object]
    tip: str
    preset: str
    settings: dict[str, object]


def _jelly(name: str) -> bpy.types.Object:
    """A pudding with twelve flutes, narrower at the top."""
    segments, levels = 48, 14
    body = _lathe(name, segments, [(1.0 - 0.38 * t) for t in np.linspace(0.0, 1.0, levels)], 0.75)
    for vertex in body.data.vertices:
        angle = math.atan2(vertex.co.y, vertex.co.x)
        flute = 1.0 + 0.07 * math.cos(12.0 * angle)
        vertex.co.x, vertex.co.y = 0.55 * flute * vertex.co.x, 0.55 * flute * vertex.co.y
    body.data.materials.append(jelly(f"{name} Jelly", RASPBERRY))
    return body


def _lathe(name: str, segments: int, radii: list[float], height: float) -> bpy.types.Object:
    """A closed surface of rings around the z axis, with rings on its ends too."""
    inside = [radii[0] * part for part in (0.35, 0.7)], [radii[-1] * part for part in (0.7, 0.35)]
    step = height / (len(radii) - 1)
    rings = [(radius, 0.0) for radius in inside[0]]
    rings += [(radius, index * step) for index, radius in enumerate(radii)]
    rings += [(radius, height) for radius in inside[1]]
    turns = [2.0 * math.pi * k / segments for k in range(segments)]
    vertices = [(r * math.cos(a), r * math.sin(a), z) for r, z in rings for a in turns]
    ends = len(vertices), len(vertices) + 1
    vertices += [(0.0, 0.0, 0.0), (0.0, 0.0, height)]
    faces: list[tuple[int, ...]] = []
    for ring in range(len(rings) - 1):
        for k in range(segments):
            a, b = ring * segments + k, ring * segments + (k + 1) % segments
            faces.append((a, b, b + segments, a + segments))
    last = (len(rings) - 1) * segments
    for k in range(segments):
        follower = (k + 1) % segments
        faces += [(ends[0], follower, k), (ends[1], last + k, last + follower)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    mesh.shade_smooth()
    body = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(body)
    return body


def _bear(name: str) -> bpy.types.Object:
    """The sample's bear, 1 m high."""
    body = bodies.bear(name, ORANGE)
    height = max(vertex.co.z for vertex in body.data.vertices)
    for vertex in body.data.vertices:
        vertex.co /= height
    return body


def _tyre(name: str) -> bpy.types.Object:
    """A hollow ring that stands, with a profile wider than it is high."""
    bpy.ops.mesh.primitive_torus_add(
        major_radius=0.38, minor_radius=0.17, major_segments=48, minor_segments=16
    )
    body = bpy.context.object
    body.name = body.data.name = name
    for vertex in body.data.vertices:
        x, y, z = vertex.co
        vertex.co = (x, -1.2 * z, y + 0.55)
    body.data.shade_smooth()
    _hollow(body, 0.05)
    body.data.materials.append(plain(f"{name} Rubber", (0.02, 0.02, 0.025)))
    return body


def _pillow(name: str) -> bpy.types.Object:
    """A square cushion, thick in the middle."""
    body = bodies.box(name, LEMON, _ORIGIN, (1.1, 1.1, 0.5), (16, 16, 4), 0.05)
    for vertex in body.data.vertices:
        x, y, z = vertex.co
        edge = max(abs(x), abs(y)) / 0.55
        corner = min(abs(x), abs(y)) / 0.55
        vertex.co = (x * (1.0 - 0.08 * (1.0 - corner**2)), y * (1.0 - 0.08 * (1.0 - corner**2)), z)
        vertex.co.z = z * math.sqrt(max(0.03, 1.0 - 0.9 * edge**4)) + 0.25
    body.data.materials.clear()
    body.data.materials.append(plain(f"{name} Cloth", (0.75, 0.72, 0.65)))
    return body


def _balloon(name: str) -> bpy.types.Object:
    body = bodies.ball(name, jelly(f"{name} Rubber", BLUEBERRY), _ORIGIN, (0.9, 0.9, 1.0))
    for vertex in body.data.vertices:
        vertex.co.z += 0.5
    _hollow(body, 0.06)
    return body


def _clay(name: str) -> bpy.types.Object:
    body = bodies.ball(name, plain(f"{name} Earth", (0.35, 0.14, 0.07)), _ORIGIN, (0.9, 0.9, 0.8))
    for vertex in body.data.vertices:
        vertex.co.z += 0.4
    return body


def _hollow(body: bpy.types.Object, thickness: float) -> None:
    wall = body.modifiers.new("Wall", "SOLIDIFY")
    wall.thickness = thickness


#: The bodies by their names.
ASSETS = {
    "Jelly": Asset(_jelly, "Wobbling jelly", "gelatine_dessert", {"resolution": 12}),
    "Gummy Bear": Asset(
        _bear, "Sitting bear of wine gum", "gelatine_ballistic", {"resolution": 14}
    ),
    "Tyre": Asset(
        _tyre,
        "Soft tyre, kept round by the air inside",
        "marshmallow",
        {"resolution": 12, "use_target_volume": True, "volume_stiffness": 3e5},
    ),
    "Pillow": Asset(_pillow, "Cushion of foam", "foam", {"resolution": 13}),
    "Balloon": Asset(
        _balloon,
        "Thin balloon. Key the Target Volume to blow it up",
        "marshmallow",
        {"resolution": 11, "use_target_volume": True, "volume_stiffness": 3e5},
    ),
    "Clay": Asset(_clay, "Lump of clay that keeps its dents", "clay", {"resolution": 12}),
}


def build_library(folder: Path = FOLDER, with_previews: bool = True) -> Path:
    """Write the library into a folder; return the path of its .blend file. To render the previews
    takes a while."""
    scene = build.empty_scene(48)
    made = [_made(scene, name, asset) for name, asset in ASSETS.items()]
    for obj in made if with_previews else ():
        for other in made:
            other.hide_render = other != obj
        _render_preview(scene, obj)
    for obj in [*scene.objects]:
        obj.hide_render = False
        if obj not in made:
            bpy.data.objects.remove(obj)
    scene.world = scene.camera = None
    bpy.data.orphans_purge(do_recursive=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CATALOGS).write_text(f"VERSION 1\n\n{CATALOG}:Soft Bodies:Soft Bodies\n")
    bpy.context.preferences.filepaths.save_version = 0
    path = folder / FILE
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True, relative_remap=False)
    return path


def _made(scene: bpy.types.Scene, name: str, asset: Asset) -> bpy.types.Object:
    obj = asset.make(name)
    obj.supple.enabled = True
    bpy.context.view_layer.update()
    presets.apply_to_size(scene, obj, PRESETS[asset.preset])
    for setting, value in asset.settings.items():
        setattr(obj.supple, setting, value)
    obj.asset_mark()
    data = obj.asset_data
    data.catalog_id, data.description, data.author = CATALOG, asset.tip, "Supple"
    data.license = "GPL-3.0-or-later"
    for tag in ("soft body", "supple"):
        data.tags.new(tag)
    return obj


def _render_preview(scene: bpy.types.Scene, obj: bpy.types.Object) -> None:
    """Render an object in the studio, and keep the picture as its preview."""
    if scene.camera is None:
        studio(scene, (0.0, 0.0, 0.5), 3.3)
        scene.render.resolution_x = scene.render.resolution_y = _PREVIEW
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "preview.png")
        scene.render.filepath, scene.render.image_settings.file_format = path, "PNG"
        bpy.ops.render.render(write_still=True)
        image = bpy.data.images.load(path)
        preview = obj.preview_ensure()
        preview.image_size = _PREVIEW, _PREVIEW
        pixels = np.empty(4 * _PREVIEW**2, dtype=np.float32)
        image.pixels.foreach_get(pixels)
        preview.image_pixels_float.foreach_set(pixels)
        bpy.data.images.remove(image)


if __name__ == "__main__":
    print(build_library())
