# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe contact of bodies with each other, mesh colliders, the ground and spheres. No torch
here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import Embedding
from ..tracked import tracks_tensors
from . import checks
from .channel import Channel
from .checks import Vector
from .schema import IF_THERE, check_kinds
from .stitches import Release

Formulation = Literal["original", "convergent"]
AttachedTo = Literal["body", "collider"]
TouchingChoice = Literal["automatic", "mesh", "tetrahedra"]


@dataclass(frozen=True)
class PairFriction:
    """Friction between two objects, in place of the combination of their coefficients.

    Args:
        first, second: names of the objects; that of the scene's ground is ``Ground``.
        friction: static Coulomb coefficient.
        kinetic_friction: once they slide; None is the static one.
    """

    first: str
    second: str
    friction: float
    kinetic_friction: float | None = None

    def __post_init__(self) -> None:
        what = f"{self.first} on {self.second}"
        checks.at_least_zero(self.friction, f"{what}: the friction")
        check_friction(what, self.friction, self.kinetic_friction)
        check_kinds(self, what)


@tracks_tensors
@dataclass(eq=False)
class Contact:
    """Bodies touch each other, themselves and colliders, and never go through.

    Incremental Potential Contact: a barrier that grows without bound as a distance goes to zero,
    steps that are cut before collisions, and friction as a smooth energy of one time step.

    Sources: Li et al., "Incremental Potential Contact", ACM Transactions on Graphics 39(4), 2020;
    Li et al., "Convergent Incremental Potential Contact", 2023, arXiv:2307.15908.

    Args:
        distance: d̂ at which surfaces begin to push, in metres; None is for a body three
            thousandths of its diagonal, or less where its tets are small, for two the lesser. Parts
            of one body that are near at rest begin at a quarter of their distance there, or nearer.
        friction: static Coulomb coefficient of two objects that both have none. For other pairs it
            is the geometric mean of both coefficients, or the only one.
        kinetic_friction: once they slide; None is the static one.
        formulation: ``convergent`` weighs by area, so that forces do not depend on the mesh;
            ``original`` adds up pairs, and adapts its stiffness.
        stiffness: κ in Pa for ``convergent``, None being a tenth of Young's modulus,
            of two bodies the geometric mean;
            in J/m⁴ for ``original``, None being found as the scene goes.
        friction_updates: the updates of normal forces of friction in a step; None until they no
            longer change.
        self_contact: whether a body touches itself.
        spares_crossing: whether a body that crosses itself at the start goes through itself from
            then on, in place of being refused.
        pairs: of objects with a friction of their own.
        passing: (P, 2) numbers of objects that pass through each other: bodies first, then mesh
            colliders. None is none of them.
    """

    distance: float | None = None
    friction: float = 0.5
    kinetic_friction: float | None = None
    formulation: Formulation = "convergent"
    stiffness: float | None = None
    friction_updates: int | None = None
    self_contact: bool = True
    spares_crossing: bool = False
    pairs: list[PairFriction] = field(default_factory=list)
    passing: NDArray[np.int32] | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        if self.passing is not None:
            numbers = checks.whole_numbers(self.passing, "Contact: an object that passes another")
            self.passing = numbers.reshape(-1, 2)
        if self.distance is not None:
            checks.above_zero(self.distance, "Contact: the distance in metres")
        if self.stiffness is not None:
            checks.above_zero(self.stiffness, "Contact: the stiffness")
        checks.at_least_zero(self.friction, "Contact: the friction")
        check_friction("Contact", self.friction, self.kinetic_friction)
        checks.choice(self.formulation, Formulation, "Contact: the formulation")
        if self.friction_updates is not None:
            updates = checks.whole_number(self.friction_updates, "Contact: the friction updates")
            if updates < 1:
                raise SceneError(
                    f"Contact: the friction updates must be at least 1 per step, not {updates}."
                )
        check_kinds(self, "Contact")


@tracks_tensors
@dataclass(eq=False)
class Collider:
    """A mesh that bodies land on, fixed or with a prescribed motion.

    It may be open, have holes, and cross itself.

    Args:
        vertices: channel of the (V, 3) positions in metres; (V, 3) where it stands still, or
            (T, V, 3) samples, become one.
        triangles: (F, 3) vertex indices.
        friction: static Coulomb coefficient; None is that of the other object.
        kinetic_friction: once something slides; None is the static one.
        thickness: of a skin around the mesh, to either side, in metres.
        name: the name in messages.
    """

    vertices: Channel
    triangles: NDArray[np.int32]
    friction: float | None = None
    kinetic_friction: float | None = None
    thickness: float = 0.0
    name: str = "Collider"

    def __post_init__(self) -> None:
        check_kinds(self, "Collider")
        self.vertices = Channel.of(self.vertices, f"{self.name}: the vertices", None, 3)
        self.triangles = checks.triangles(self.triangles, len(self.at(0)), self.name)
        check_friction(self.name, self.friction, self.kinetic_friction)
        checks.at_least_zero(self.thickness, f"{self.name}: the thickness in metres")

    def at(self, frame: int) -> NDArray[np.float64]:
        """Return the (V, 3) vertices after a frame; 0 is the start."""
        return self.vertices.at(frame)


@dataclass(eq=False)
class ContactSurface:
    """A surface that collides in place of the boundary of the tetrahedra: the visible one, or a
    coarser one.

    Args:
        points: (V, 3) at rest, in metres.
        triangles: (F, 3) indices of points.
        embedding: the points in the tetrahedra of the body, once it has them.
        through_own: (F,) whether a triangle goes through its own body, as those do that cross it at
            rest; None is none of them.
        refined: (F,) whether a triangle is there in smaller ones as well; None is none of them.
    """

    points: NDArray[np.float64]
    triangles: NDArray[np.int32]
    embedding: Embedding | None = None
    through_own: NDArray[np.bool_] | None = field(default=None, metadata={IF_THERE: True})
    refined: NDArray[np.bool_] | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        self.points = checks.positions(self.points, "the contact surface")
        self.triangles = checks.triangles(self.triangles, len(self.points), "the contact surface")
        self.through_own = self._checked(self.through_own, "pass through their own body")
        self.refined = self._checked(self.refined, "be there in smaller ones")
        check_kinds(self, "The contact surface")

    def _checked(self, flags: NDArray[np.bool_] | None, what: str) -> NDArray[np.bool_] | None:
        if flags is None:
            return None
        flags = checks.array(flags, f"The contact surface: whether triangles {what}").astype(bool)
        if flags.shape != (len(self.triangles),):
            raise SceneError(
                f"The contact surface: of {len(self.triangles)} triangles, {flags.shape} are said "
                f"to {what} or not to."
            )
        return flags

    @property
    def self_collides(self) -> NDArray[np.bool_]:
        """Mark the (F,) triangles that collide with their own body."""
        return self._not(self.through_own)

    @property
    def is_finest(self) -> NDArray[np.bool_]:
        """Mark the (F,) triangles that are not there in smaller ones."""
        return self._not(self.refined)

    def _not(self, flags: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        return np.ones(len(self.triangles), dtype=bool) if flags is None else ~flags


@dataclass(eq=False)
class Attachment:
    """Points of a body that keep their place on another object.

    They pass through that object, as do all parts of the two that intersect at the start; the rest
    of the two collides.

    Args:
        body: index of the body among those of the scene.
        points: indices of its skin's points, or of its tet vertices where it has no skin.
        other: index of the body or collider that they are attached to.
        to: which of the two that is.
        is_pinned: whether pins of the body already replace the attachment. Attachments to
            colliders become pins once the body has tetrahedra, and still exempt their parts from
            collisions.
        release: when it lets go; None is never.
        vertices: tet vertices of the body that it still holds; None is those that carry the
            points. To a collider, those that are pinned for its sake.
        also_pinned: those of the vertices that pins of the body hold as long as these do.
        since: the frame at which it has taken hold. After the start, only attached points pass
            through the other object.
        places: of the vertices among the tetrahedra of the other body; None is where they are at
            the start.
    """

    body: int
    points: NDArray[np.int32]
    other: int
    to: AttachedTo = "body"
    is_pinned: bool = False
    release: Release | None = field(default=None, metadata={IF_THERE: True})
    vertices: NDArray[np.int32] | None = field(default=None, metadata={IF_THERE: True})
    also_pinned: NDArray[np.int32] | None = field(default=None, metadata={IF_THERE: True})
    since: int = field(default=0, metadata={IF_THERE: True})
    places: Embedding | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        self.body = checks.whole_number(self.body, "Attachment: the index of the body")
        self.other = checks.whole_number(self.other, "Attachment: the index of the other object")
        self.since = checks.whole_number(self.since, "Attachment: the frame since which it holds")
        self.points = checks.whole_numbers(self.points, "An attached point").ravel()
        checks.choice(self.to, AttachedTo, "Attachment: the kind of the other object")
        if self.vertices is not None:
            self.vertices = checks.whole_numbers(self.vertices, "An attached vertex").ravel()
        if self.also_pinned is not None:
            self.also_pinned = checks.whole_numbers(self.also_pinned, "An attached pin").ravel()
        check_kinds(self, "Attachment")
        if len(self.points) == 0:
            raise SceneError("Attachment: there is no point to attach.")

    @property
    def holds(self) -> bool:
        """Whether any point is still attached."""
        return self.vertices is None or len(self.vertices) > 0

    @property
    def joins_bodies(self) -> bool:
        """Whether the attachment holds a body to another one, not to a collider."""
        return self.to == "body" and self.holds


def check_friction(name: str, friction: float | None, kinetic: float | None) -> None:
    """Both coefficients, where they are given."""
    if friction is not None:
        checks.at_least_zero(friction, f"{name}: the friction")
    if kinetic is None:
        return
    checks.at_least_zero(kinetic, f"{name}: the kinetic friction")
    if friction is not None and kinetic > friction:
        raise SceneError(
            f"{name}: the kinetic friction {kinetic:g} is above the static friction {friction:g}. "
            "Sliding surfaces have the lower friction."
        )


ResponseChoice = Literal["barrier", "projection"]


@tracks_tensors
@dataclass(eq=False)
class Ground:
    """A horizontal half-space, z below ``height``.

    Args:
        height: in metres.
        friction: static Coulomb coefficient; that of two surfaces is the mean of theirs (see
            ``FrictionTable``).
        restitution: fraction of the normal speed kept at a bounce, for ``projection`` only.
        response: ``barrier`` keeps every vertex strictly above by a smooth energy,
            ``projection`` puts those that fell below back on the plane.
        distance: at which the barrier begins to push, in metres; None is a thousandth of each
            body's own diagonal.
        penalty: k in 1/s of the push ``k m |v|`` on a vertex below, for ``projection`` only.
        kinetic_friction: once something slides; None is the static one.
    """

    height: float = 0.0
    friction: float = 0.5
    restitution: float = 0.0
    response: ResponseChoice = "barrier"
    distance: float | None = None
    penalty: float = 0.0
    kinetic_friction: float | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        checks.finite(self.height, "Ground: the height")
        check_friction("Ground", self.friction, self.kinetic_friction)
        _check_bounce("Ground", self.restitution, self.penalty)
        checks.choice(self.response, ResponseChoice, "Ground: the response")
        if self.distance is not None:
            checks.above_zero(self.distance, "Ground: the distance", " m")


@dataclass(eq=False)
class Sphere:
    """A fixed solid sphere that bodies land on, in explicit steps.

    Args:
        center: in metres.
        radius: in metres.
        friction: static Coulomb coefficient.
        restitution: fraction of the normal speed kept at a bounce.
        penalty: k in 1/s of the push ``k m |v|`` on a vertex inside.
        name: the name in messages.
        kinetic_friction: once something slides; None is the static one.
    """

    center: Vector
    radius: float
    friction: float = 0.5
    restitution: float = 0.0
    penalty: float = 0.0
    name: str = "Sphere"
    kinetic_friction: float | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        check_kinds(self, "Sphere")
        self.center = checks.vector(self.center, f"{self.name}: the center")
        checks.above_zero(self.radius, f"{self.name}: the radius", " m")
        check_friction(self.name, self.friction, self.kinetic_friction)
        _check_bounce(self.name, self.restitution, self.penalty)


def _check_bounce(name: str, restitution: float, penalty: float) -> None:
    checks.share(restitution, f"{name}: restitution")
    checks.at_least_zero(penalty, f"{name}: the penalty", " per second")
