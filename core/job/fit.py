# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what a job is asked for instead of its frames.

What is found is simulated as the scene says, and a throw corrected by what it misses by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..adjoint import hit_target, match_shape, sag_free
from ..adjoint.hit_target import HIT_RATIO, MAX_RUNS, Throw
from ..adjoint.observer import Observer
from ..errors import SceneError
from ..scene.channel import Channel
from ..scene.rest_shape import TetRestShape
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.start_shape import start_positions, tet_mesh_of
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
from .follow import follow
from .output import say
from .search import Search, positions, skin_of, with_body
from .secant_steps import secant_steps

FloatArray = NDArray[np.float64]


def fit(job: Job) -> None:
    """Finds what is wanted, and writes it beside the scene.

    Raises:
        SuppleError: when the job is damaged, there are no gradients through its scene, or nothing
            is found.
    """
    wanted, runs = fits.read_wanted(job.folder), 0
    if not 0 <= wanted.body < len(job.tet_scene.bodies):
        raise SceneError(f"{job.folder} has no body {wanted.body}.")

    def observe(loss: float, done: float) -> None:
        nonlocal runs
        runs += 1
        fits.append_loss(job.folder, loss, done)
        say(f"search {runs}, {loss:.4g} m")

    fits.write_found(job.folder, _TOOLS[type(wanted)](job, wanted, observe))


def _keep(job: Job, wanted: KeepShape, observe: Observer) -> KeptShape:
    scene = job.tet_scene
    body = _at_rest(scene.bodies[wanted.body])
    for attachment in scene.attachments:
        if wanted.body in (attachment.body, attachment.other) and attachment.to == "body":
            raise SceneError(
                f"{body.name} is attached to another soft body, whose rest shape is not sought; "
                "pin it instead."
            )
    alone = replace(
        scene,
        bodies=[body],
        ground=scene.ground and replace(scene.ground, friction=0.0, kinetic_friction=None),
        gravity=_gravity(scene),
        contact=scene.contact if scene.colliders else None,
        attachments=[replace(own, body=0) for own in scene.attachments if own.body == wanted.body],
        time_scale=1.0,
    )
    kept = sag_free(alone, observe=observe)
    filled, found = tet_mesh_of(body), tet_mesh_of(kept.scene.bodies[0])
    return KeptShape(TetRestShape(filled.vertices, filled.tets, found.vertices), kept.distance)


def _at_rest(body: SoftBody) -> SoftBody:
    """Without what counts in motion alone. What is at rest without friction is at rest with it."""
    return replace(
        body,
        friction=0.0,
        kinetic_friction=None,
        friction_paint=None,
        initial_velocities=None,
        release=None,
    )


def _hit(job: Job, wanted: HitTarget, observe: Observer) -> FoundThrow:
    body = job.tet_scene.bodies[wanted.body]
    mean, target = _mean(body, wanted.weights), np.asarray(wanted.target)
    way = target - mean @ start_positions(body)
    near = HIT_RATIO * max(float(np.linalg.norm(way)), tet_mesh_of(body).diagonal)
    search = Search.of(job, wanted.body)
    scene = search.scene
    if not any(body.velocity):
        scene = with_body(scene, wanted.body, velocity=_straight_throw(job, way, wanted.frame))
    throw = search.find(
        partial(
            hit_target,
            *(scene, target, wanted.frame),
            body=wanted.body,
            weights=mean,
            with_spin=wanted.with_spin,
            observe=observe,
        )
    )
    runs = throw.runs

    def missed(parameters: FloatArray) -> FloatArray:
        nonlocal runs
        runs += 1
        started = _throw(parameters, throw)
        simulated = positions(job, wanted.body, wanted.frame, **started)[-1]
        away: FloatArray = mean @ simulated - target
        observe(float(np.linalg.norm(away)), runs / MAX_RUNS)
        return away

    first = np.array([*throw.velocity, *(throw.angular_velocity if wanted.with_spin else ())])
    # Where the search has missed, correcting it leads nowhere.
    left = max(1, MAX_RUNS - runs) if throw.distance <= near else 1
    parameters, away = secant_steps(missed, first, throw.jacobian, near, left)
    distance = float(np.linalg.norm(away))
    return FoundThrow(
        **_throw(parameters, throw),
        distance=distance,
        search_distance=throw.distance,
        hits=distance <= near,
    )


def _throw(parameters: FloatArray, throw: Throw) -> dict[str, Any]:
    spin = tuple(parameters[3:].tolist()) or throw.angular_velocity
    return {"velocity": tuple(parameters[:3].tolist()), "angular_velocity": spin}


def _straight_throw(job: Job, way: FloatArray, frame: int) -> tuple[float, ...]:
    """The velocity of a free flight there, with which a search begins that has none: without it,
    what lies on the ground would be thrown through it."""
    seconds = frame * job.settings.frame_time
    return tuple((way / seconds - 0.5 * seconds * np.asarray(_gravity(job.tet_scene))).tolist())


def _match(job: Job, wanted: MatchShape, observe: Observer) -> FoundStiffness:
    search, body = Search.of(job, wanted.body), job.tet_scene.bodies[wanted.body]
    base = float(job.scene.bodies[wanted.body].material.young)
    factors = np.broadcast_to(body.material.young / base, len(tet_mesh_of(body).tets))
    shares = factors[:, None]
    if wanted.unpainted is not None:
        painted = ((factors - wanted.unpainted) / (1.0 - wanted.unpainted)).clip(0.0, 1.0)
        shares = np.stack([painted, 1.0 - painted], axis=1)
    match = search.find(
        partial(
            match_shape,
            *(search.scene, [*[None] * (wanted.first - 1), *wanted.shapes]),
            body=wanted.body,
            regions=shares,
            on_skin=True,
            observe=observe,
        )
    )
    young, *rest = match.young.tolist()
    material = match.scene.bodies[wanted.body].material
    last = wanted.first + len(wanted.shapes) - 1
    frames = positions(job, wanted.body, last, material=material)[wanted.first - 1 :]
    seen = skin_of(body)
    away = np.stack([seen.interpolate(each) for each in frames]) - wanted.shapes
    distance = float(np.sqrt(np.square(away).sum(axis=2).mean()))
    return FoundStiffness(young, rest[0] / young if rest else None, distance, match.losses[0])


_TOOLS: dict[type, Callable[[Job, Any, Observer], Found]] = {
    KeepShape: _keep,
    HitTarget: _hit,
    MatchShape: _match,
    FollowKeys: follow,
}


def _gravity(scene: Scene) -> tuple[float, float, float]:
    """At the start, in m/s²."""
    x, y, z = Channel.of(scene.gravity, "Gravity", 3).at(0).tolist()
    return x, y, z


def _mean(body: SoftBody, weights: FloatArray | None) -> FloatArray:
    """(N,) of the tet vertices in the place that a body has: its centre of mass, or a mean of (V,)
    points of its skin. They sum to one."""
    mesh = tet_mesh_of(body)
    if weights is None:
        mass = mesh.lumped_mass(body.density)
        return mass / mass.sum()
    seen = skin_of(body)
    each = weights[:, None] * seen.weights
    mean = np.zeros(len(mesh.vertices))
    np.add.at(mean, seen.indices, each)
    return mean / mean.sum()
