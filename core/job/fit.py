# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the search of a job for a rest shape, a throw, a stiffness or a control instead of
frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..adjoint import match_shape, sag_free
from ..adjoint.hit_target import MAX_RUNS, Throws
from ..adjoint.hit_target import find_throw as find
from ..adjoint.match_shape import matched_distance
from ..adjoint.observer import Observer
from ..adjoint.refusals import refuse_scene
from ..errors import InstabilityError, SceneError
from ..materials import Material
from ..scene.channel import Channel
from ..scene.rest_shape import TetRestShape
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.start_shape import tet_mesh_of
from . import Job, fits
from .fits import (
    FollowKeys,
    Found,
    FoundStiffness,
    FoundThrow,
    HitTarget,
    KeepShape,
    KeptShape,
    MatchShape,
)
from .follow import FloatArray, Search, follow, positions, skin_of
from .log import report


def find_throw(job: Job, request: HitTarget, observe: Observer) -> FoundThrow:
    """Find the throw of a job.

    Raises:
        SuppleError: as ``hit_target`` does.
    """
    scene, seconds = job.tet_scene, request.frame * job.settings.frame_time

    def fly(changed: Scene) -> FloatArray:
        body = changed.bodies[request.body]
        throw = {"velocity": body.velocity, "angular_velocity": body.angular_velocity}
        try:
            return positions(job, request.body, request.frame, **throw)[-1]
        except InstabilityError as error:
            report(f"a throw failed: {error}")
            raise

    throws = Throws(
        scene,
        request.body,
        fly,
        np.asarray(request.target),
        mean_of(scene.bodies[request.body], request.weights),
        request.frame,
        seconds,
        request.with_spin,
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
    embedding = skin_of(body)
    each = weights[:, None] * embedding.weights
    mean = np.zeros(len(mesh.vertices))
    np.add.at(mean, embedding.indices, each)
    return mean / mean.sum()


def fit(job: Job) -> None:
    """Run the search of a job, and write its result beside the scene.

    Raises:
        SuppleError: when the job is damaged, there are no gradients through its scene, or nothing
            is found.
    """
    request, runs = fits.read_wanted(job.folder), 0
    if not 0 <= request.body < len(job.tet_scene.bodies):
        raise SceneError(f"{job.folder} has no body {request.body}.")

    def observe(loss: float, done: float) -> None:
        nonlocal runs
        runs += 1
        fits.append_loss(job.folder, loss, done)
        report(f"search {runs}, {loss:.4g} m")

    fits.write_found(job.folder, _TOOLS[type(request)](job, request, observe))


def _keep(job: Job, request: KeepShape, observe: Observer) -> KeptShape:
    scene = job.tet_scene
    body = _at_rest(scene.bodies[request.body])
    for attachment in scene.attachments:
        if request.body in (attachment.body, attachment.other) and attachment.to == "body":
            raise SceneError(
                f"{body.name} is attached to another soft body, whose rest shape is not solved "
                "for. Pin it instead."
            )
    alone = replace(
        scene,
        bodies=[body],
        ground=scene.ground and replace(scene.ground, friction=0.0, kinetic_friction=None),
        gravity=_gravity(scene),
        contact=scene.contact if scene.colliders else None,
        attachments=[
            replace(each, body=0) for each in scene.attachments if each.body == request.body
        ],
        time_scale=1.0,
    )
    result = sag_free(alone, observe=observe)
    filled, released = tet_mesh_of(body), tet_mesh_of(result.scene.bodies[0])
    return KeptShape(TetRestShape(filled.vertices, filled.tets, released.vertices), result.distance)


def _at_rest(body: SoftBody) -> SoftBody:
    """Without settings that matter only in motion. An equilibrium without friction is one with
    friction, too."""
    return replace(
        body,
        friction=0.0,
        kinetic_friction=None,
        friction_paint=None,
        initial_velocities=None,
        release=None,
    )


def _match(job: Job, request: MatchShape, observe: Observer) -> FoundStiffness:
    search, body = Search.of(job), job.tet_scene.bodies[request.body]
    refuse_scene(search.scene)
    before, embedding = _distance(job, request, body.material), skin_of(body)
    base = float(job.scene.bodies[request.body].material.young)
    factors = np.broadcast_to(body.material.young / base, len(tet_mesh_of(body).tets))
    shares = factors[:, None]
    if request.unpainted is not None:
        painted = ((factors - request.unpainted) / (1.0 - request.unpainted)).clip(0.0, 1.0)
        shares = np.stack([painted, 1.0 - painted], axis=1)
    observe(before, 0.0)
    if before <= matched_distance(body, [*request.shapes], embedding):
        return FoundStiffness(base, request.unpainted, before, before)
    match = search.find(
        partial(
            match_shape,
            *(search.scene, [*[None] * (request.first - 1), *request.shapes]),
            body=request.body,
            regions=shares,
            on_skin=True,
            observe=observe,
        )
    )
    young, *rest = match.young.tolist()
    material = match.scene.bodies[request.body].material
    distance = _distance(job, request, material)
    return FoundStiffness(young, rest[0] / young if rest else None, distance, before)


def _distance(job: Job, request: MatchShape, material: Material) -> float:
    """From the shapes, as the scene is simulated with a material of the body: the root of the mean
    square in metres."""
    last = request.first + len(request.shapes) - 1
    frames = positions(job, request.body, last, material=material)[request.first - 1 :]
    embedding = skin_of(job.tet_scene.bodies[request.body])
    away = np.stack([embedding.interpolate(each) for each in frames]) - request.shapes
    return float(np.sqrt(np.square(away).sum(axis=2).mean()))


_TOOLS: dict[type, Callable[[Job, Any, Observer], Found]] = {
    KeepShape: _keep,
    HitTarget: find_throw,
    MatchShape: _match,
    FollowKeys: follow,
}


def _gravity(scene: Scene) -> tuple[float, float, float]:
    """At the start, in m/s²."""
    x, y, z = Channel.of(scene.gravity, "Gravity", 3).at(0).tolist()
    return x, y, z
