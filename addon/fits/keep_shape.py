# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep This Shape."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ...core.job.fits import KeepShape, KeptShape
from ...core.scene.scene import Scene
from ..capture import rest_shape
from ..capture.captured import Capture
from .tool import Question, Tool, length


def _ask(question: Question) -> tuple[Scene, KeepShape]:
    scene, index = question.captured.scene, question.index
    bodies = list(scene.bodies)
    # The search starts from the tetrahedra of the mesh, not from an earlier result.
    bodies[index] = replace(bodies[index], tet_rest_shape=None)
    return replace(scene, bodies=bodies), KeepShape(index)


def _apply(obj: bpy.types.Object, captured: Capture, index: int, result: KeptShape) -> str:
    body = captured.objects[index]
    rest_shape.keep(obj, result.rest_shape, body.matrices.at(0), body.unit)
    return (
        f"{obj.name} keeps its shape to within {length(result.distance)} at rest. Rest Shape "
        "under Material is now Kept. Simulate again."
    )


TOOL = Tool(
    label="Keep This Shape",
    description=(
        "Find a rest shape for which gravity and pins hold the body as modelled, so that it "
        "does not droop"
    ),
    icon="FREEZE",
    settings=(),
    ask=_ask,
    apply=_apply,
)
