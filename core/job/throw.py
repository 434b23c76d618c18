# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the throw with which a body hits a target, as the scene is simulated."""

from __future__ import annotations

import numpy as np

from ..adjoint.hit_target import MAX_RUNS, Throws
from ..adjoint.hit_target import find_throw as find
from ..adjoint.observer import Observer
from ..errors import InstabilityError
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.start_shape import tet_mesh_of
from . import Job
from .fits import FoundThrow, HitTarget
from .output import say
from .search import FloatArray, positions, skin_of


def find_throw(job: Job, wanted: HitTarget, observe: Observer) -> FoundThrow:
    """The throw that a job asks for.

    Raises:
        SuppleError: as ``hit_target`` does.
    """
    scene, seconds = job.tet_scene, wanted.frame * job.settings.frame_time

    def fly(changed: Scene) -> FloatArray:
        body = changed.bodies[wanted.body]
        throw = {"velocity": body.velocity, "angular_velocity": body.angular_velocity}
        try:
            return positions(job, wanted.body, wanted.frame, **throw)[-1]
        except InstabilityError as error:
            say(f"a throw failed: {error}")
            raise

    throws = Throws(
        scene,
        wanted.body,
        fly,
        np.asarray(wanted.target),
        mean_of(scene.bodies[wanted.body], wanted.weights),
        wanted.frame,
        seconds,
        wanted.with_spin,
        MAX_RUNS,
        observe,
    )
    throw = find(throws)
    return FoundThrow(
        throw.velocity,
        throw.angular_velocity,
        throw.distance,
        hits=throw.hits,
        set_distance=throw.set_distance,
    )


def mean_of(body: SoftBody, weights: FloatArray | None) -> FloatArray:
    """(N,) weights of the tet vertices in the place of a body: its centre of mass, or a mean of
    (V,) points of its skin. They sum to one."""
    mesh = tet_mesh_of(body)
    if weights is None:
        mass = mesh.lumped_mass(body.density)
        return mass / mass.sum()
    seen = skin_of(body)
    each = weights[:, None] * seen.weights
    mean = np.zeros(len(mesh.vertices))
    np.add.at(mean, seen.indices, each)
    return mean / mean.sum()
