# SPDX-License-Identifier: GPL-3.0-or-later
"""The bodies of the sample scenes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import bpy

from .studio import Colour, jelly

Place = tuple[float, float, float]

# Where the parts of a bear are, and how large: its trunk, head, snout, and two of what follows.
_BEAR: list[tuple[Place, Place]] = [
    ((0.0, 0.0, 0.5), (0.8, 0.62, 0.95)),
    ((0.0, -0.02, 1.15), (0.66, 0.6, 0.56)),
    ((0.0, -0.3, 1.08), (0.28, 0.26, 0.22)),
    *[
        ((side * x, y, z), size)
        for side in (-1.0, 1.0)
        for (x, y, z), size in (
            ((0.27, 0.02, 1.42), (0.24, 0.16, 0.26)),
            ((0.36, -0.24, 0.66), (0.24, 0.46, 0.24)),
            ((0.3, -0.36, 0.17), (0.3, 0.6, 0.32)),
        )
    ],
]
# Heights between which the weights of its head grow from 0 to 1.
_NECK = (0.82, 0.98)


def monkey(name: str, colour: Colour) -> bpy.types.Object:
    body = _monkey(name, 1.3)
    # Once into the mesh, for a smooth skin to simulate, and once more for the picture.
    subdivision = body.modifiers.new("Subdivision", "SUBSURF")
    subdivision.levels = 1
    bpy.ops.object.modifier_apply(modifier=subdivision.name)
    finer = body.modifiers.new("Subdivision", "SUBSURF")
    finer.levels = finer.render_levels = 1
    body.data.shade_smooth()
    body.data.materials.append(jelly(f"{name} Jelly", colour))
    return body


def small_monkey(name: str, colour: Colour, size: float) -> bpy.types.Object:
    """Make a small monkey: few vertices of its own, and a smooth skin by a modifier alone."""
    body = _monkey(name, size)
    finer = body.modifiers.new("Subdivision", "SUBSURF")
    finer.levels = finer.render_levels = 2
    body.data.shade_smooth()
    body.data.materials.append(jelly(f"{name} Jelly", colour))
    return body


def bear(name: str, colour: Colour) -> bpy.types.Object:
    """Make a sitting bear with one skin; its vertex group ``Head`` fades out along the neck."""
    body = joined(name, _BEAR)
    head = body.vertex_groups.new(name="Head")
    low, high = _NECK
    for vertex in body.data.vertices:
        if (weight := min(1.0, (vertex.co.z - low) / (high - low))) > 0.0:
            head.add([vertex.index], weight, "REPLACE")
    body.data.materials.append(jelly(f"{name} Jelly", colour))
    return body


def joined(
    name: str, parts: Sequence[tuple[Place, Place]], voxel: float = 0.06
) -> bpy.types.Object:
    """Ellipsoids under one smooth skin, of faces ``voxel`` wide: where each is, and its extents."""
    made = []
    for place, size in parts:
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.5, segments=24, ring_count=12, location=place)
        made.append(bpy.context.object)
        made[-1].scale = size
    for part in made:
        part.select_set(True)
    bpy.ops.object.join()
    bpy.ops.object.transform_apply()
    body = _named(name)
    skin = body.modifiers.new("Remesh", "REMESH")
    skin.voxel_size, skin.use_smooth_shade = voxel, True
    even = body.modifiers.new("Smooth", "SMOOTH")
    even.iterations = 6
    for modifier in (skin, even):
        bpy.ops.object.modifier_apply(modifier=modifier.name)
    return body


def tetrahedron(name: str, colour: Colour, place: Place) -> bpy.types.Object:
    """A regular one with edges of 1 m, its tip up, its base at ``place``."""
    height, out = math.sqrt(2.0 / 3.0), 1.0 / math.sqrt(3.0)
    turns = [math.radians(90.0 + 120.0 * k) for k in range(3)]
    base = [(out * math.cos(turn), out * math.sin(turn), 0.0) for turn in turns]
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([*base, (0.0, 0.0, height)], [], faces)
    body = bpy.data.objects.new(name, mesh)
    body.location = place
    body.data.materials.append(jelly(f"{name} Jelly", colour))
    bpy.context.collection.objects.link(body)
    return body


def box(
    name: str,
    colour: Colour,
    place: Place,
    size: Place,
    cuts: int | tuple[int, int, int] = 12,
    rounded: float = 0.04,
) -> bpy.types.Object:
    """A box of ``size`` around ``place``, with edges rounded by so many metres, cut into
    ``cuts`` slices along its axes."""
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    body = _named(name)
    body.scale = size
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    bevel = body.modifiers.new("Bevel", "BEVEL")
    bevel.width, bevel.segments = rounded, 3
    bpy.ops.object.modifier_apply(modifier=bevel.name)
    for axis, count in enumerate((cuts,) * 3 if isinstance(cuts, int) else cuts):
        _slice(body, axis, count)
    body.location = place
    body.data.shade_smooth()
    body.data.materials.append(jelly(f"{name} Jelly", colour))
    return body


def ring(name: str, place: Place, material: bpy.types.Material) -> bpy.types.Object:
    """Make a ring across the x axis, to fly through."""
    bpy.ops.mesh.primitive_torus_add(
        location=place,
        rotation=(0.0, math.radians(90.0), 0.0),
        major_radius=0.5,
        minor_radius=0.04,
        major_segments=64,
    )
    made = bpy.context.object
    made.name = name
    made.data.shade_smooth()
    made.data.materials.append(material)
    return made


def ball(name: str, material: bpy.types.Material, place: Place, size: Place) -> bpy.types.Object:
    """An ellipsoid with the extents ``size``."""
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.5, segments=48, ring_count=24)
    body = _named(name)
    body.scale = size
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    body.location = place
    body.data.shade_smooth()
    body.data.materials.append(material)
    return body


def voussoir(
    name: str, colour: Colour, radii: tuple[float, float], turns: tuple[float, float], depth: float
) -> bpy.types.Object:
    """A stone of an arch around the y axis: between two radii, and two turns in degrees from x."""
    middle = (radii[0] + radii[1]) / 2
    width = math.radians(turns[1] - turns[0])
    height = radii[1] - radii[0]
    body = box(name, colour, (0.0, 0.0, 0.0), (width * middle, depth, height), 3, 0.02)
    first = math.radians(turns[0])
    for vertex in body.data.vertices:
        x, y, z = vertex.co
        turn, radius = first + width / 2 - x / middle, middle + z
        vertex.co = (radius * math.cos(turn), y, radius * math.sin(turn))
    return body


def make_soft(
    body: bpy.types.Object,
    *,
    young: float,
    resolution: int,
    poisson: float = 0.45,
    density: float = 1000.0,
    damping: float = 0.0,
    viscosity: float = 0.0,
    model: str = "stable_neo_hookean",
) -> None:
    soft = body.supple
    soft.enabled = True
    soft.model = model
    soft.young, soft.poisson, soft.density = young, poisson, density
    soft.damping, soft.viscosity, soft.resolution = damping, viscosity, resolution


def pin(body: bpy.types.Object, vertices: list[int]) -> None:
    """Pins them through a vertex group."""
    group = body.vertex_groups.new(name="Pins")
    group.add(vertices, 1.0, "REPLACE")
    body.supple.pin_group = group.name


def _monkey(name: str, size: float) -> bpy.types.Object:
    bpy.ops.mesh.primitive_monkey_add(size=size)
    return _named(name)


def _named(name: str) -> bpy.types.Object:
    body = bpy.context.object
    body.name = body.data.name = name
    return body


def _slice(body: bpy.types.Object, axis: int, cuts: int) -> None:
    """Cuts a body into ``cuts`` slices along an axis, so that its skin can bend."""
    import bmesh

    mesh = bmesh.new()
    mesh.from_mesh(body.data)
    reach = [vertex.co[axis] for vertex in mesh.verts]
    low, high = min(reach), max(reach)
    normal = [float(axis == other) for other in range(3)]
    for cut in range(1, cuts):
        point = [part * (low + (high - low) * cut / cuts) for part in normal]
        everything = [*mesh.verts, *mesh.edges, *mesh.faces]
        bmesh.ops.bisect_plane(mesh, geom=everything, plane_co=point, plane_no=normal)
    mesh.to_mesh(body.data)
    mesh.free()
