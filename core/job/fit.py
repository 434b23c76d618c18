# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the search of a job for a rest shape, a throw, a stiffness or a control instead of frames.

A single body does not touch itself during the search, and BDF2 replaces integrators without an
adjoint, such as explicit steps with contact. The result is simulated with the settings of the
scene, and its error at the keys corrects the next search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..adjoint import Following, Key, follow_keys, match_shape, sag_free
from ..adjoint.follow_keys import NEAR_DIAGONALS, SOLVED_M_PER_S
from ..adjoint.hit_target import MAX_RUNS, Throws
from ..adjoint.hit_target import find_throw as find
from ..adjoint.match_shape import matched_distance
from ..adjoint.observer import Observer
from ..adjoint.refusals import refuse_integrator, refuse_scene
from ..errors import InstabilityError, SceneError
from ..geometry.embedding import Embedding
from ..geometry.posed_tets import posed_vertices
from ..integrators import BDF2, SDIRK2, ImplicitEuler, Integrator, integrator_named
from ..integrators.contact_failures import DivergedStepError
from ..materials import Material
from ..preparation.pins import pinned_tet_vertices
from ..preparation.transfers import with_tet_control
from ..scene.channel import Channel
from ..scene.rest_shape import ControlKind, TetControl, TetRestShape
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody, skin_embedding_of, start_positions, tet_mesh_of
from . import Job, fits
from .fits import (
    FollowKeys,
    Found,
    FoundControl,
    FoundStiffness,
    FoundThrow,
    HitTarget,
    KeepShape,
    KeptShape,
    MatchShape,
)
from .log import report
from .run import simulator_of

# Implicit steps a frame in place of explicit ones: with this many a bounce loses little energy.
SUBSTEPS = 2

Result = TypeVar("Result")
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Search:
    """The scene of a search, and the options of its simulations."""

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

    def find(self, tool: Callable[..., Result]) -> Result:
        """Return the result of a tool, searched in steps of BDF2 where explicit steps diverge.

        Raises:
            SuppleError: as the tool does.
        """
        try:
            return tool(**self.options)
        except DivergedStepError as error:
            report(f"searching in steps of BDF2 instead: {error}")
            return tool(**self.options | _implicit())


def _implicit() -> dict[str, Any]:
    return {"integrator": BDF2(), "substeps": SUBSTEPS}


def positions(job: Job, body: int, frames: int, **changes: Any) -> list[NDArray[np.float64]]:
    """Return the (N, 3) positions of each frame after the start, as the scene is simulated with
    a body changed."""
    simulator = simulator_of(with_body(job.tet_scene, body, **changes), job.settings)
    return [frame.positions[body].double().cpu().numpy() for frame in simulator.run(frames)]


def with_body(scene: Scene, body: int, **changes: Any) -> Scene:
    bodies = list(scene.bodies)
    bodies[body] = replace(bodies[body], **changes)
    return replace(scene, bodies=bodies)


def skin_of(body: SoftBody) -> Embedding:
    """Its points in the tets, as they are seen."""
    embedding = skin_embedding_of(body)
    return embedding if body.skin is None or body.skin.phong is None else body.skin.phong


# The most corrections of a control by its distances from the keys in the simulated scene.
MAX_CORRECTIONS = 3


def follow(job: Job, request: FollowKeys, observe: Observer) -> FoundControl:
    """Find the control that brings a body through its keys.

    Raises:
        SuppleError: when nothing that has keys is free to follow them, or there are no gradients
            through the scene.
    """
    body, search = job.tet_scene.bodies[request.body], Search.of(job)
    vertices, places = _places(job, request, body)
    near, last = NEAR_DIAGONALS * tet_mesh_of(body).diagonal, int(request.frames[-1])
    scene, aims, best = search.scene, places, None
    total: FloatArray | float = 0.0
    for _ in range(1 + MAX_CORRECTIONS):
        keys = [Key(int(k), aim, vertices) for k, aim in zip(request.frames, aims, strict=True)]
        options: dict[str, Any] = {"body": request.body, "by": request.by, "observe": observe}
        following = search.find(partial(_followed, scene, keys, **options))
        total = total + following.accelerations
        control = _control(body, following, request, total)
        driven = with_tet_control(replace(body, tet_control=control))
        changes = {"accelerations": driven.accelerations, "pin_path": driven.pin_path}
        frames = positions(job, request.body, last, **changes)
        missed = np.stack([frames[k - 1][vertices] for k in request.frames]) - places
        distances = np.linalg.norm(missed, axis=2).max(axis=1)
        worst, distance = int(distances.argmax()), float(distances.max())
        if best is None or distance < best.distance:
            outcome = float(following.distance), distance <= near
            effort, frame = _effort(body, total, request.by, last), int(request.frames[worst])
            best = FoundControl(control, effort, distance, frame, *outcome)
        if best.follows or not following.follows:
            break
        aims, scene = aims - missed, following.scene
    assert best is not None
    return best


def _followed(
    scene: Scene, keys: Sequence[Key], *, integrator: Integrator, **options: Any
) -> Following:
    """With implicit steps solved as well as their differences need it."""
    if isinstance(integrator, (ImplicitEuler, BDF2, SDIRK2)):
        integrator = replace(integrator, tolerance=SOLVED_M_PER_S)
    return follow_keys(scene, keys, integrator=integrator, **options)


def _places(job: Job, request: FollowKeys, body: SoftBody) -> tuple[NDArray[np.int32], FloatArray]:
    """(Q,) the tet vertices that are to follow, and (K, Q, 3) where they are to be, in metres."""
    mesh, embedding = tet_mesh_of(body), skin_embedding_of(body)
    if request.shapes.shape[1] != len(embedding.indices):
        raise SceneError(
            f"{body.name}: its keys have {request.shapes.shape[1]} points, and its skin "
            f"{len(embedding.indices)}."
        )
    if job.scene.bodies[request.body].tet_rest_shape is not None:
        # Not at rest but at the start its tets carry the skin where it was modelled.
        mesh = mesh.with_vertices(start_positions(body))
    points = np.arange(len(embedding.indices), dtype=np.int32)
    vertices = pinned_tet_vertices(embedding, points if request.points is None else request.points)
    if request.points is None:
        vertices = np.arange(len(mesh.vertices), dtype=np.int32)
    if request.by == "forces" and body.pinned is not None:
        # They are where their pins have them.
        vertices = np.setdiff1d(vertices, body.pinned)
    if len(vertices) == 0:
        raise SceneError(
            f"{body.name}: all vertices that should follow the keys are pinned, so that no force "
            "moves them. Let pins follow the keys, pin fewer vertices, or choose others."
        )
    shapes = [posed_vertices(mesh, embedding, shape)[vertices] for shape in request.shapes]
    return vertices, np.stack(shapes)


def _control(
    body: SoftBody, following: Following, request: FollowKeys, accelerations: FloatArray
) -> TetControl:
    mesh, frames = tet_mesh_of(body), range(int(request.frames[-1]) + 1)
    if request.by == "forces":
        # None after the last key.
        samples = np.concatenate([accelerations, np.zeros_like(accelerations[:1])])
    else:
        samples = _pin_offsets(body, following.scene.bodies[request.body], frames)
    return TetControl(mesh.vertices, mesh.tets, request.by, Channel(samples))


def _pin_offsets(body: SoftBody, driven: SoftBody, frames: range) -> FloatArray:
    """Return the (T, N, 3) offsets of pins from their path, and of all others as of the pin
    beside them, since another filling has its pins elsewhere."""
    from scipy.spatial import KDTree

    assert body.pinned is not None and driven.pin_path is not None
    vertices = tet_mesh_of(body).vertices
    path = body.pin_path or Channel.constant(start_positions(body)[body.pinned])
    offsets = np.stack([driven.pin_path.at(k) - path.at(k) for k in frames])
    nearest = KDTree(vertices[body.pinned]).query(vertices)[1]
    return offsets[:, nearest]


def _effort(body: SoftBody, accelerations: FloatArray, by: ControlKind, frames: int) -> float:
    """The root of the mean of |a|² over masses, or pins, and frames, in m/s²."""
    mass = tet_mesh_of(body).lumped_mass(body.density)
    weights = mass if by == "forces" else np.ones(accelerations.shape[1])
    mean = np.square(accelerations).sum(axis=2) @ (weights / weights.sum())
    return float(mean.sum() / frames) ** 0.5


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
