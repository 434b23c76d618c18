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
    # Sought from what fills the mesh, whatever was found before.
    bodies[index] = replace(bodies[index], tet_rest_shape=None)
    return replace(scene, bodies=bodies), KeepShape(index)


def _apply(obj: bpy.types.Object, captured: Capture, index: int, found: KeptShape) -> str:
    own = captured.objects[index]
    rest_shape.keep(obj, found.rest_shape, own.matrices.at(0), own.unit)
    return (
        f"{obj.name} keeps its shape: at rest it is {length(found.distance)} from it at most. "
        "Rest Shape under Material is Kept; simulate again."
    )


TOOL = Tool(
    label="Keep This Shape",
    description=(
        "Finds the shape at rest with which gravity and pins hold the body as it is modelled, so "
        "that it does not droop from the first frame on"
    ),
    icon="FREEZE",
    settings=(),
    ask=_ask,
    apply=_apply,
)
