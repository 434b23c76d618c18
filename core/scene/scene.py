# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe a whole simulated scene: a plain object, checked when it is made. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import SceneError
from ..tracked import tracks_tensors
from . import channel
from .channel import Channel
from .checks import Vector
from .contact_settings import Attachment, Collider, Contact, Ground, Sphere
from .forces import Absorber, Force
from .schema import IF_THERE, kind_of
from .soft_body import SoftBody
from .stitches import Release, Stitches

# The types in members that are lists.
_LISTS: dict[str, tuple[type, ...]] = {
    "bodies": (SoftBody,),
    "colliders": (Sphere, Collider),
    "attachments": (Attachment,),
    "absorbers": (Absorber,),
}


@tracks_tensors
@dataclass(eq=False)
class Scene:
    """Everything that is simulated together.

    Args:
        bodies: at least one.
        ground: or None for free space.
        gravity: acceleration in m/s²; where it changes a channel, or its (T, 3) samples.
        colliders: spheres for explicit steps, meshes for implicit ones.
        contact: the contact of bodies with each other and with meshes; None lets bodies pass
            through each other, and stands for ``Contact()`` where there is a mesh to land on.
        attachments: of bodies to each other and to meshes.
        forces: energies beside those, also of the author's own, which no file can hold.
        time_scale: simulated seconds in a second of frames, above 0; below 1 is slow motion. A
            channel, or its (T,) samples, if it changes. Prescribed motion keeps its frames, and is
            faster or slower for the bodies by the inverse factor.
        absorbers: objects that shade bodies from force fields with absorption.
    """

    bodies: list[SoftBody]
    ground: Ground | None = None
    gravity: Channel | Vector = (0.0, 0.0, -9.81)
    colliders: list[Sphere | Collider] = field(default_factory=list)
    contact: Contact | None = None
    attachments: list[Attachment] = field(default_factory=list)
    forces: list[Force] = field(default_factory=list, metadata={IF_THERE: True})
    time_scale: Channel | float = field(default=1.0, metadata={IF_THERE: True})
    absorbers: list[Absorber] = field(default_factory=list, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        self._check_kinds()
        if not self.bodies:
            raise SceneError("The scene has no soft body; add one first.")
        self.gravity = channel.vector(self.gravity, "Gravity")
        if self.contact is None and self.meshes:
            self.contact = Contact()
        more = ": time cannot stand still or run back. 1 is real time, 0.5 half as fast"
        scale = channel.above_zero(self.time_scale, "The time scale", more)
        self.time_scale = channel.number(scale, "The time scale")
        if not isinstance(self.forces, (list, tuple)):
            raise SceneError(
                f"The forces of a scene must be a list, and are {kind_of(self.forces)}."
            )
        for force in self.forces:
            if not isinstance(force, Force):
                raise SceneError(f"{force!r} is not a force: it has no method potential(system).")
        for attachment in self.attachments:
            self._check_attachment(attachment)
        for stitches in self.stitches:
            self._check_stitches(stitches)
        count = len(self.bodies) + len(self.meshes)
        for first, second in self.passing_pairs:
            if not 0 <= first < second < count:
                raise SceneError(
                    f"Contact: the objects {first} and {second} cannot pass through each other. "
                    f"Name two of the {count} objects, counted from 0."
                )

    @property
    def spheres(self) -> list[Sphere]:
        """Return the colliders of explicit steps."""
        return [collider for collider in self.colliders if isinstance(collider, Sphere)]

    @property
    def meshes(self) -> list[Collider]:
        """Return the colliders of implicit steps."""
        return [collider for collider in self.colliders if isinstance(collider, Collider)]

    @property
    def through_themselves(self) -> set[int]:
        """Return the bodies that go through themselves although there is contact."""
        if self.contact is None:
            return set()
        is_scene_wide = self.contact.self_contact
        return {
            k for k, body in enumerate(self.bodies) if not (is_scene_wide and body.self_contact)
        }

    @property
    def passing_pairs(self) -> set[tuple[int, int]]:
        """Return the pairs of objects that pass through each other, the lower number first: bodies,
        then mesh colliders."""
        if self.contact is None or self.contact.passing is None:
            return set()
        return {(min(pair), max(pair)) for pair in self.contact.passing.tolist()}

    @property
    def couples_bodies(self) -> bool:
        """Whether there is contact, an attachment or a stitch: forces too stiff for explicit steps,
        between bodies that only one integrator can carry on together."""
        return self.contact is not None or bool(self.attachments) or bool(self.stitches)

    @property
    def attaches_bodies(self) -> bool:
        """Whether any attachment holds a body to another one."""
        return any(attachment.joins_bodies for attachment in self.attachments)

    @property
    def stitches(self) -> list[Stitches]:
        """Return the stitches among the forces."""
        return [force for force in self.forces if isinstance(force, Stitches)]

    @property
    def may_let_go(self) -> bool:
        """Whether anything that holds a body lets go at some time."""
        return len(self._releases) > 0

    @property
    def may_take_hold_again(self) -> bool:
        """Whether anything takes hold of a body after the start."""
        return any(release.again for release in self._releases)

    @property
    def _releases(self) -> list[Release]:
        releases = [body.release for body in self.bodies]
        releases += [attachment.release for attachment in self.attachments]
        releases += [stitches.release for stitches in self.stitches]
        return [release for release in releases if release is not None]

    def _check_kinds(self) -> None:
        for name, kinds in _LISTS.items():
            value = getattr(self, name)
            expected = " or ".join(kind.__name__ for kind in kinds)
            if not isinstance(value, (list, tuple)):
                raise SceneError(
                    f"The {name} of a scene must be a list of {expected}, and is {kind_of(value)}."
                )
            for item in value:
                if not isinstance(item, kinds):
                    raise SceneError(
                        f"Each of the {name} of a scene must be of the kind {expected}, and one is "
                        f"{kind_of(item)}."
                    )
        for name, kind in (("ground", Ground), ("contact", Contact)):
            if not isinstance(value := getattr(self, name), kind | None):
                raise SceneError(
                    f"The {name} of a scene must be of the kind {kind.__name__}, or None, and is "
                    f"{kind_of(value)}."
                )

    def _check_stitches(self, stitches: Stitches) -> None:
        for index in (stitches.body, stitches.other):
            if not 0 <= index < len(self.bodies):
                raise SceneError(f"Stitches: there is no body {index}.")

    def _check_attachment(self, attachment: Attachment) -> None:
        others = self.bodies if attachment.to == "body" else self.meshes
        if not 0 <= attachment.body < len(self.bodies):
            raise SceneError(f"Attachment: there is no body {attachment.body}.")
        name = self.bodies[attachment.body].name
        if not 0 <= attachment.other < len(others):
            raise SceneError(f"{name} is attached to a {attachment.to} that does not exist.")
        if attachment.to == "body" and attachment.other == attachment.body:
            raise SceneError(f"{name} is attached to itself; choose another object.")
