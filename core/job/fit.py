# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what a job is asked for instead of its frames.

A search goes through the scene as far as there are gradients: a body alone does not touch itself
meanwhile, and steps that have no adjoint are those of BDF2. What is found is then simulated as the
scene says, and a throw corrected by what it misses by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..adjoint import hit_target, match_shape, sag_free
from ..adjoint.hit_target import HIT_RATIO
from ..adjoint.observer import Observer
from ..adjoint.refusals import refuse_integrator
from ..errors import SceneError
from ..geometry.embedding import Embedding
from ..integrators import BDF2
from ..scene.channel import Channel
from ..scene.rest_shape import TetRestShape
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.start_shape import skin_embedding_of, start_positions, tet_mesh_of
from . import Job, fits
from .fits import Found, FoundStiffness, FoundThrow, HitTarget, KeepShape, KeptShape, MatchShape
from .output import say
from .run import integrator_of, simulator_of

FloatArray = NDArray[np.float64]

# How often a throw is corrected by what it misses by as the scene is simulated.
MAX_CORRECTIONS = 4
# Of implicit steps in place of others: with so many a bounce loses little.
SUBSTEPS = 2


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


@dataclass(frozen=True)
class _Search:
    """Args: the scene that is searched in, and how it is simulated."""

    scene: Scene
    options: dict[str, Any]

    @staticmethod
    def of(job: Job, body: int) -> _Search:
        scene, settings = job.tet_scene, job.settings
        if len(scene.bodies) == 1 and not scene.colliders:
            scene = replace(scene, contact=None)
        options: dict[str, Any] = {"frame_time": settings.frame_time}
        integrator = integrator_of(scene, settings, body)
        try:
            refuse_integrator(integrator, scene)
            options |= {"integrator": integrator, "substeps": settings.substeps}
        except SceneError:
            options |= {"integrator": BDF2(), "substeps": SUBSTEPS}
        return _Search(scene, options)


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
        attachments=[],
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
    search, aim, best = _Search.of(job, wanted.body), target, None
    scene = search.scene
    if not any(body.velocity):
        scene = _with_body(scene, wanted.body, velocity=_straight_throw(job, way, wanted.frame))
    for _ in range(1 + MAX_CORRECTIONS):
        throw = hit_target(
            scene,
            aim,
            wanted.frame,
            body=wanted.body,
            weights=mean,
            with_spin=wanted.with_spin,
            observe=observe,
            **search.options,
        )
        started = {"velocity": throw.velocity, "angular_velocity": throw.angular_velocity}
        simulated = _positions(job, wanted.body, wanted.frame, **started)[-1]
        missed = mean @ simulated - target
        distance = float(np.linalg.norm(missed))
        if best is None or distance < best.distance:
            found = throw.scene.bodies[wanted.body]
            own = found.velocity, found.angular_velocity
            best = FoundThrow(*own, distance, throw.distance, distance <= near)
        if best.hits or throw.distance > near:
            break
        aim, scene = aim - missed, throw.scene
    assert best is not None
    return best


def _straight_throw(job: Job, way: FloatArray, frame: int) -> tuple[float, ...]:
    """The velocity of a free flight there, with which a search begins that has none: without it,
    what lies on the ground would be thrown through it."""
    seconds = frame * job.settings.frame_time
    return tuple((way / seconds - 0.5 * seconds * np.asarray(_gravity(job.tet_scene))).tolist())


def _match(job: Job, wanted: MatchShape, observe: Observer) -> FoundStiffness:
    search, body = _Search.of(job, wanted.body), job.tet_scene.bodies[wanted.body]
    base = float(job.scene.bodies[wanted.body].material.young)
    factors = np.broadcast_to(body.material.young / base, len(tet_mesh_of(body).tets))
    shares = factors[:, None]
    if wanted.unpainted is not None:
        painted = ((factors - wanted.unpainted) / (1.0 - wanted.unpainted)).clip(0.0, 1.0)
        shares = np.stack([painted, 1.0 - painted], axis=1)
    match = match_shape(
        search.scene,
        [*[None] * (wanted.first - 1), *wanted.shapes],
        body=wanted.body,
        regions=shares,
        on_skin=True,
        observe=observe,
        **search.options,
    )
    young, *rest = match.young.tolist()
    material = match.scene.bodies[wanted.body].material
    last = wanted.first + len(wanted.shapes) - 1
    frames = _positions(job, wanted.body, last, material=material)[wanted.first - 1 :]
    seen = _skin(body)
    away = np.stack([seen.interpolate(each) for each in frames]) - wanted.shapes
    distance = float(np.sqrt(np.square(away).sum(axis=2).mean()))
    return FoundStiffness(young, rest[0] / young if rest else None, distance, match.losses[0])


_TOOLS: dict[type, Callable[[Job, Any, Observer], Found]] = {
    KeepShape: _keep,
    HitTarget: _hit,
    MatchShape: _match,
}


def _positions(job: Job, body: int, frames: int, **changes: Any) -> list[FloatArray]:
    """(N, 3) of each frame after the start, as the scene is simulated with a body changed."""
    simulator = simulator_of(_with_body(job.tet_scene, body, **changes), job.settings)
    return [frame.positions[body].double().cpu().numpy() for frame in simulator.run(frames)]


def _gravity(scene: Scene) -> tuple[float, float, float]:
    """At the start, in m/s²."""
    x, y, z = Channel.of(scene.gravity, "Gravity", 3).at(0).tolist()
    return x, y, z


def _with_body(scene: Scene, body: int, **changes: Any) -> Scene:
    bodies = list(scene.bodies)
    bodies[body] = replace(bodies[body], **changes)
    return replace(scene, bodies=bodies)


def _mean(body: SoftBody, weights: FloatArray | None) -> FloatArray:
    """(N,) of the tet vertices in the place that a body has: its centre of mass, or a mean of (V,)
    points of its skin. They sum to one."""
    mesh = tet_mesh_of(body)
    if weights is None:
        mass = mesh.lumped_mass(body.density)
        return mass / mass.sum()
    seen = _skin(body)
    each = weights[:, None] * seen.weights
    mean = np.zeros(len(mesh.vertices))
    np.add.at(mean, seen.indices, each)
    return mean / mean.sum()


def _skin(body: SoftBody) -> Embedding:
    """Its points in the tets, as they are seen."""
    own = skin_embedding_of(body)
    return own if body.skin is None or body.skin.phong is None else body.skin.phong
