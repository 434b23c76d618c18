# SPDX-License-Identifier: GPL-3.0-or-later
"""What a search goes through: the scene as far as there are gradients.

A body alone does not touch itself meanwhile, and steps that have no adjoint, or none through how
surfaces meet, are those of BDF2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..adjoint.explicit_run import StoppedStepError
from ..adjoint.refusals import refuse_integrator
from ..errors import SceneError
from ..geometry.embedding import Embedding
from ..integrators import BDF2, integrator_named
from ..integrators.contact_failures import BlockedStepError, DivergedStepError
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.start_shape import skin_embedding_of
from . import Job
from .log import say
from .run import simulator_of

# Of implicit steps in place of others: with so many a bounce loses little.
SUBSTEPS = 2

Found = TypeVar("Found")
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Search:
    """Args: the scene that is searched in, and how it is simulated."""

    scene: Scene
    options: dict[str, Any]

    @staticmethod
    def of(job: Job) -> Search:
        scene, settings = job.tet_scene, job.settings
        if len(scene.bodies) == 1 and not scene.colliders:
            scene = replace(scene, contact=None)
        options: dict[str, Any] = {"frame_time": settings.frame_time}
        integrator = integrator_named(settings.integrator, settings.step_tolerance)
        try:
            refuse_integrator(integrator, scene)
            options |= {"integrator": integrator, "substeps": settings.substeps}
        except SceneError:
            options |= _implicit()
        return Search(scene, options)

    def find(self, tool: Callable[..., Found]) -> Found:
        """What a tool finds, called with the options; in implicit steps where surfaces stop each
        other within explicit ones, or these diverge.

        Raises:
            SuppleError: as the tool does.
        """
        try:
            return tool(**self.options)
        except (StoppedStepError, BlockedStepError, DivergedStepError) as error:
            say(f"searching in steps of BDF2 instead: {error}")
            return tool(**self.options | _implicit())


def _implicit() -> dict[str, Any]:
    return {"integrator": BDF2(), "substeps": SUBSTEPS}


def positions(job: Job, body: int, frames: int, **changes: Any) -> list[NDArray[np.float64]]:
    """(N, 3) of each frame after the start, as the scene is simulated with a body changed."""
    simulator = simulator_of(with_body(job.tet_scene, body, **changes), job.settings)
    return [frame.positions[body].double().cpu().numpy() for frame in simulator.run(frames)]


def with_body(scene: Scene, body: int, **changes: Any) -> Scene:
    bodies = list(scene.bodies)
    bodies[body] = replace(bodies[body], **changes)
    return replace(scene, bodies=bodies)


def skin_of(body: SoftBody) -> Embedding:
    """Its points in the tets, as they are seen."""
    own = skin_embedding_of(body)
    return own if body.skin is None or body.skin.phong is None else body.skin.phong
