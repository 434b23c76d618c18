# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a body at rest, and the one that it starts in."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ...core.errors import JobError
from ...core.job import Job
from ...core.job.run_start import run_start
from ...core.scene.skin import SurfaceMesh
from ...core.scene.start import PosedStart
from .. import driving, start_runs
from .body import Shape
from .captured import CaptureError
from .rest_shape import has_shape_keys


def read_shape(context: bpy.types.Context, obj: bpy.types.Object, unit: float) -> Shape:
    """Of one object at the start frame, in metres in the world.

    Raises:
        CaptureError: when it cannot be simulated, or the run that it starts from is not there or of
            another mesh.
    """
    shape = Shape.read(context, obj, unit)
    if obj.supple.start_shape == start_runs.POSE:
        with driving.undriven(obj):
            modelled = Shape.read(context, obj, unit)
        return replace(modelled, start=PosedStart(shape.points))
    if obj.supple.start_shape == start_runs.RUN:
        return _of_run(obj, shape)
    return shape


def can_be_posed(obj: bpy.types.Object) -> bool:
    """Whether anything bends it before the frames, which keys of its rest shape do not."""
    keys = obj.data.shape_keys
    has_keys = keys is not None and len(keys.key_blocks) > 1 and not has_shape_keys(obj)
    return has_keys or driving.deforming_parent(obj) is not None or bool(driving.drivers(obj))


def _of_run(obj: bpy.types.Object, own: Shape) -> Shape:
    """What is at rest is what was at rest in that run."""
    path = start_runs.path_of(obj)
    if path is None:
        raise CaptureError(
            f"{obj.name} is to start from another run, and none is chosen; go to a frame of one "
            "and press Take Shown Frame under Start."
        )
    try:
        job, body = Job(path.parent.parent), int(path.stem)
        frame = obj.supple.start_run_frame or job.last_frame()
        bodies = job.scene.bodies
        start = run_start(job, body, frame)
    except (JobError, ValueError) as error:
        raise CaptureError(
            f"{obj.name} starts from a run that cannot be read: {error} Take another one under "
            "Start, or bring it back."
        ) from error
    other = bodies[body]
    if not isinstance(other.mesh, SurfaceMesh) or other.skin is None:
        raise CaptureError(
            f"{obj.name} starts from a run that was made by a script; take another one."
        )
    for what, now, then in (
        ("vertices", own.points, other.skin.points),
        ("vertices after its modifiers", own.vertices, other.mesh.vertices),
    ):
        if len(now) != len(then):
            raise CaptureError(
                f"{obj.name} has {len(now)} {what}, and {other.name} had {len(then)} in the run "
                "that it starts from; take a run of the same mesh under Start."
            )
    of_run = other.skin.refined
    seen = [
        replace(one, points=skin.points) for one, skin in zip(own.refined, of_run, strict=False)
    ]
    if [len(each.points) for each in seen] != [len(each.points) for each in own.refined]:
        seen = []
    return replace(
        own,
        points=other.skin.points,
        vertices=other.mesh.vertices,
        triangles=other.mesh.triangles,
        refined=tuple(seen),
        start=start,
    )
