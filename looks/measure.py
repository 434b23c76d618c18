# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates a scene through the add-on, as an artist does, and measures the visible mesh."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from supple.addon import actions
from supple.addon.playback import mesh_cache
from supple.core import TetMesh
from supple.core.geometry.tet_mesh import signed_volumes
from supple.core.job import Job

from .filling import distances_outside, enclosed_volume, material_volume
from .scenes import FRAMES, Scenario, Stage, build, plate_bounds
from .shapes import Shape, shape
from .visible_mesh import VisibleMesh, depth_below, depth_in_box

Points = NDArray[np.float64]
Figures = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Simulated:
    """A scene that is open in Blender, with all its frames.

    Args:
        job: where they are; in a folder that may be gone once the next is simulated.
        visible: the visible surface.
        positions: (F, V, 3) of it in each frame, in metres in the world.
    """

    scenario: Scenario
    stage: Stage
    job: Job
    visible: VisibleMesh
    positions: Points


def simulate(scenario: Scenario, folder: Path, frames: int = FRAMES) -> Simulated:
    """Builds a scene, presses Simulate, and reads every frame as Blender shows it.

    Args:
        folder: for the simulated frames.

    Raises:
        SuppleError: when it cannot be simulated.
    """
    stage = build(scenario, frames)
    scene = bpy.context.scene
    scene.supple.cache_folder = str(folder)
    actions.simulate(bpy.context)
    shown = mesh_cache.shown_folder(scene)
    assert shown is not None
    made = shape(scenario.body)
    start = made.vertices + np.array(stage.body.location)
    seen = np.stack([_seen(stage.body, frame) for frame in range(1, frames + 2)])
    visible = VisibleMesh.from_quads(start, made.quads)
    return Simulated(scenario, stage, Job(shown), visible, seen)


def figures(simulated: Simulated) -> Figures:
    """All figures of a scene, the worst of its frames where there is one for each."""
    return {**_surface_figures(simulated), **_tet_figures(simulated)}


def _surface_figures(simulated: Simulated) -> Figures:
    visible, frames = simulated.visible, simulated.positions
    crossing = [len(visible.crossing_faces(at)) for at in frames]
    torn = [visible.torn_share(at) for at in frames]
    rough = [visible.roughness(at) for at in frames]
    ranks = list(zip(crossing, torn, rough, strict=True))
    ground = bpy.context.scene.supple.ground_height
    return {
        "crossing_faces": max(crossing),
        "torn_percent": _rounded(100.0 * max(torn)),
        "longest_stretch": _rounded(max(float(visible.stretches(at).max()) for at in frames)),
        "roughness": _rounded(max(rough)),
        "ground_depth_mm": _rounded(1e3 * max(depth_below(at, ground) for at in frames)),
        "collider_depth_mm": _rounded(1e3 * _depth_in_plates(simulated)),
        # The most that cross, of these the most torn, then the roughest; as the timeline counts.
        "worst_frame": 1 + max(range(len(ranks)), key=lambda frame: ranks[frame]),
        "faces": len(np.unique(visible.faces)),
    }


def _tet_figures(simulated: Simulated) -> Figures:
    body = simulated.job.tet_scene.bodies[0]
    mesh, made = body.mesh, shape(simulated.scenario.body)
    assert isinstance(mesh, TetMesh)
    rest = mesh.rest_volumes
    volumes = [
        signed_volumes(simulated.job.read_frame(frame).astype(np.float64), mesh.tets) / rest
        for frame in range(len(simulated.positions))
    ]
    records = simulated.job.records()
    seconds = [float(record["seconds"]) for record in records if record["frame"] > 0]
    outside = distances_outside(mesh, simulated.visible.rest)
    return {
        "least_j": _rounded(min(float(each.min()) for each in volumes)),
        "inverted_tets": max(int((each <= 0.0).sum()) for each in volumes),
        "tets": len(mesh.tets),
        "integrator": str(records[-1].get("integrator", "")),
        "seconds_a_frame": _rounded(float(np.mean(seconds))),
        "outside_percent": _rounded(100.0 * float((outside > 0.0).mean())),
        "farthest_outside_cells": _rounded(float(outside.max())),
        **_filling(simulated, mesh, made),
    }


def _filling(simulated: Simulated, mesh: TetMesh, made: Shape) -> Figures:
    """Return the error of the mass, and of the volume where the body is thin, in percent."""
    body = simulated.job.tet_scene.bodies[0]
    shift = simulated.visible.rest[0] - made.vertices[0]
    standing = mesh.with_vertices(mesh.vertices - shift)
    surface = made.vertices, simulated.visible.triangles
    volume = enclosed_volume(*surface)
    thin = enclosed_volume(*surface, made.thin)
    mass = float(mesh.lumped_mass(body.density).sum())
    return {
        "mass_error_percent": _percent(mass, float(np.mean(body.density)) * volume),
        "thin_volume_error_percent": _percent(material_volume(standing, *surface, made.thin), thin),
    }


def _depth_in_plates(simulated: Simulated) -> float:
    """In metres, in any frame."""
    scene, deepest = bpy.context.scene, 0.0
    if not simulated.stage.plates:
        return deepest
    for frame, at in enumerate(simulated.positions, 1):
        scene.frame_set(frame)
        for plate in simulated.stage.plates:
            deepest = max(deepest, depth_in_box(at, *plate_bounds(plate)))
    return deepest


def _seen(obj: bpy.types.Object, frame: int) -> Points:
    """Return the (V, 3) points that Blender shows at a frame, in the world."""
    bpy.context.scene.frame_set(frame)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    local = np.empty(3 * len(evaluated.data.vertices), dtype=np.float32)
    evaluated.data.vertices.foreach_get("co", local)
    matrix = np.array(evaluated.matrix_world)
    positions: Points = local.reshape(-1, 3).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
    return positions


def _percent(value: float, reference: float) -> float:
    return _rounded(100.0 * (value / reference - 1.0))


def _rounded(value: float) -> float:
    """To four digits."""
    return float(f"{value:.4g}")
