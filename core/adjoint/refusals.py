# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse scenes that gradients cannot pass through before a run, so that nothing is left out of
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from torch import Tensor

from ..errors import SceneError
from ..integrators import Integrator
from ..integrators.explicit_integrators import Midpoint, RungeKutta4, SymplecticEuler
from ..integrators.implicit_integrators import BDF2, SDIRK2, ImplicitEuler
from ..materials import Linear
from ..potentials.contact.mesh_contact import MeshContact
from ..potentials.potential import Potential
from ..scene.forces import Fluid, ForceField
from ..scene.friction import FrictionTable
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..system import System

IMPLICIT = (ImplicitEuler, BDF2, SDIRK2)
EXPLICIT = (SymplecticEuler, Midpoint, RungeKutta4)


def refuse_scene(scene: Scene) -> None:
    """Refuse a scene that gradients cannot pass through.

    Raises:
        SceneError: if a part of the scene has no derivative.
    """
    for what in _unsupported(scene):
        raise SceneError(f"There are no gradients through {what}; leave it out.")


def chosen_body(scene: Scene, body: int) -> SoftBody:
    """Return the body of an index.

    Raises:
        SceneError: when there is none of that index.
    """
    if not 0 <= body < len(scene.bodies):
        raise SceneError(
            f"There is no body {body}; the scene has {len(scene.bodies)}, counted from 0."
        )
    return scene.bodies[body]


def _unsupported(scene: Scene) -> Iterator[str]:
    contact = scene.contact
    if contact is not None and contact.formulation == "original" and contact.stiffness is None:
        yield "contact with an adaptive stiffness, as of the method Original"
    if contact is not None and contact.friction_updates is not None:
        yield "a fixed number of friction passes, whose normal forces are lagged"
    if any(attachment.release is not None for attachment in scene.attachments):
        yield "attachments that let go"
    if scene.spheres:
        yield "sphere colliders"
    if scene.ground is not None and scene.ground.response != "barrier":
        yield "a bouncy ground"
    for body in scene.bodies:
        if body.plasticity is not None and body.stiffness is not None:
            yield f"plasticity whose stiffness changes ({body.name})"
        if body.is_sag_free:
            yield f"a rest shape that follows a pose ({body.name})"
        if body.changes_rest_shape and body.stiffness is not None:
            yield f"a rest shape and a stiffness that both change ({body.name})"
        if body.changes_rest_shape and isinstance(body.material, Linear):
            yield f"a rest shape that changes, of the linear model ({body.name})"
        if body.release is not None:
            yield f"releases ({body.name})"


def refuse_integrator(integrator: Integrator, scene: Scene) -> None:
    """Refuse an integrator without an adjoint.

    Raises:
        SceneError: on an integrator that there is no adjoint of, or not with this scene.
    """
    if not isinstance(integrator, IMPLICIT + EXPLICIT):
        choices = ", ".join(kind.__name__ for kind in IMPLICIT + EXPLICIT)
        raise SceneError(
            f"There are no gradients through {type(integrator).__name__}; choose one of {choices}."
        )
    if isinstance(integrator, EXPLICIT) and scene.attachments:
        raise SceneError(
            "There are no gradients through attachments in explicit steps; choose ImplicitEuler or "
            "BDF2."
        )
    if isinstance(integrator, EXPLICIT) and scene.contact is not None:
        raise SceneError(
            "There are no gradients through contact between surfaces in explicit steps; choose "
            "ImplicitEuler, BDF2 or SDIRK2, or leave the contact out."
        )


def refuse_flow(scene: Scene) -> None:
    """Refuse plastic flow where the rest depends on its history.

    Raises:
        SceneError: if the equilibrium depends on the plastic flow on the way to it.
    """
    names = [body.name for body in scene.bodies if body.plasticity is not None]
    if names:
        raise SceneError(
            f"There are no gradients of an equilibrium of plastic bodies ({', '.join(names)}), "
            "since their plastic flow depends on their path. Simulate, or leave the plasticity "
            "out."
        )


def refuse_for_rest_shape(scene: Scene) -> None:
    """Refuse to search for a rest shape that changes by itself.

    Raises:
        SceneError: if a rest shape changes by itself.
    """
    for body in scene.bodies:
        if body.changes_rest_shape:
            raise SceneError(
                f"{body.name}: its rest shape changes over time and cannot be solved for. Leave "
                "that change out."
            )


def refuse_contact(scene: Scene, contact: MeshContact | None, positions: Tensor) -> None:
    """Refuse surfaces in contact where a rest shape is sought.

    Raises:
        SceneError: if surfaces touch at (3, N) positions. They push as hard as they are near, and
            no rest shape brings them to where they push as hard as they have to.
    """
    if contact is None or not (touching := contact.objects_in_contact(positions)):
        return
    objects = [*scene.bodies, *scene.colliders]
    names = ", ".join(objects[index].name for index in sorted(touching))
    raise SceneError(
        f"{names}: surfaces are in contact in the modelled shape. Their contact force depends only "
        "on their distance, so that no rest shape keeps the modelled shape. Attach the body to "
        "the object that it lies on, pin it there, or move it away by more than the contact "
        "distance."
    )


def refuse_sliding(scene: Scene) -> None:
    """Refuse fields and friction where a rest shape is sought.

    Raises:
        SceneError: for fields, since masses depend on the rest shape, and for friction, since an
            equilibrium with it depends on the path.
    """
    fields = [force.name for force in scene.forces if isinstance(force, ForceField)]
    if fields:
        raise SceneError(
            f"There are no derivatives of force fields ({', '.join(fields)}) by the rest shape; "
            "leave them out."
        )
    table = FrictionTable(scene)
    has_friction = scene.ground is not None and table.on_ground.act
    if has_friction or (scene.contact is not None and table.mesh_pairs.act):
        raise SceneError(
            "With friction the equilibrium is not unique, since it depends on the path of the "
            "bodies. Set the friction of the ground, of contact and of bodies to 0."
        )


# The quantities of a body on which the viscosity for a loss factor depends.
_VIBRATION = ("density", "viscosity", "stiffness", "mesh.vertices", "material.")


def refuse_loss_factors(scene: Scene, leaves: Mapping[str, Tensor]) -> None:
    """Refuse loss factors that depend on a tensor.

    Raises:
        SceneError: on a loss factor whose viscosity would change with a tensor.
    """
    for index, body in enumerate(scene.bodies):
        prefixes = tuple(f"bodies[{index}].{name}" for name in _VIBRATION)
        tensor = next((place for place in leaves if place.startswith(prefixes)), None)
        if tensor is not None and np.any(body.loss_factor):
            raise SceneError(
                f"{body.name}: there are no gradients by {tensor} through a loss factor, whose "
                "viscosity depends on the slowest vibration. Give the viscosity that `prepare` "
                "computes instead."
            )


def refuse_system(system: System, leaves: Mapping[str, Tensor]) -> None:
    """Refuse a system that gradients cannot pass through.

    Raises:
        SceneError: on forces without a derivative, a body that begins inside out, and a tensor
            that nothing comes of.
    """
    for force in system.forces:
        if type(force).on_tape is Potential.on_tape:
            raise SceneError(f"There are no gradients through {force.label}; leave it out.")
    if bool(system.initially_inverted.any()):
        raise SceneError(
            "There are no gradients through the unfolding of a body; give a start shape in which "
            "no tet is inside out."
        )
    _refuse_attached(system.scene, leaves)
    _refuse_reshaped(system.scene, leaves)
    for index, body in enumerate(system.bodies):
        damped = [f"bodies[{index}].{m}" for m in ("stiffness_damping", "viscosity")]
        damping_places = [place for place in damped if place in leaves]
        if damping_places and not body.is_viscous:
            raise SceneError(
                f"{body.name}: there is nothing to differentiate while both dampings of the solid "
                f"are 0. Start {damping_places[0]} above 0."
            )
        if f"bodies[{index}].density" in leaves and body.skin is not None and body.skin.goals:
            raise SceneError(
                f"{body.name}: there are no gradients by the density of a body whose skin has "
                "goals; give these to vertices of the tets."
            )
    _refuse_friction(system, leaves)


def _refuse_reshaped(scene: Scene, leaves: Mapping[str, Tensor]) -> None:
    """Refuse everything that depends on the rest shape in further ways."""
    places = [place for place in leaves if place.endswith("mesh.vertices")]
    if not places:
        return
    ground, skins = scene.ground, [body.skin for body in scene.bodies]
    painted = any(body.friction_paint is not None for body in scene.bodies)
    if scene.contact is not None:
        what = "contact and mesh colliders"
    elif scene.attachments:
        what = "attachments"
    elif any(isinstance(force, Fluid) for force in scene.forces):
        what = "fluids"
    elif any(skin is not None and skin.goals is not None for skin in skins):
        what = "goals of a skin; give these to vertices of the tets"
    elif ground is not None and painted:
        what = "painted friction"
    elif ground is not None and not ground.distance:
        what = "a ground whose distance depends on the size of bodies; give it a distance"
    else:
        return
    raise SceneError(f"There are no gradients by a rest shape ({places[0]}) with {what}.")


# The quantities of a body's initial positions.
_PLACES = ("initial_positions", "pin_path", "rest_shape.amounts", "rest_shape.displacements")


def _refuse_attached(scene: Scene, leaves: Mapping[str, Tensor]) -> None:
    """Refuse start positions of attached bodies, since they determine where attachments hold.
    Attachments to colliders are pins."""
    for attachment in scene.attachments:
        held = {attachment.body} | ({attachment.other} if attachment.to == "body" else set())
        for index in sorted(held):
            for member in _PLACES:
                if f"bodies[{index}].{member}" in leaves:
                    raise SceneError(
                        f"{scene.bodies[index].name}: there are no gradients by the {member} of a "
                        "body with attachments."
                    )


def _refuse_friction(system: System, leaves: Mapping[str, Tensor]) -> None:
    places = [place for place in leaves if place.startswith("ground.") or "friction" in place]
    if not places:
        return
    has_ground, has_contact = system.ground_barrier is not None, system.scene.contact is not None
    if not has_ground and not has_contact:
        raise SceneError(f"{places[0]} requires grad, but the scene has no ground.")
    has_friction = (has_ground and system.obstacles.ground_friction.act) or (
        has_contact and FrictionTable(system.scene).mesh_pairs.act
    )
    friction = [place for place in places if "friction" in place]
    if friction and not has_friction:
        raise SceneError(f"{friction[0]} requires grad and is 0. Start it above 0.")
