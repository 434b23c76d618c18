# SPDX-License-Identifier: GPL-3.0-or-later
"""Which numbers of a scene are tensors that require grad."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import replace

from torch import Tensor

from ..materials.material import PARAMETERS
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..tracked import is_tracked, plain, refuse_tracked, tracked

#: What can be differentiated by, as it stands in a scene.
_KNOWN = re.compile(
    r"gravity|ground\.(height|friction|kinetic_friction)|bodies\[\d+\]\.(density|velocity"
    r"|angular_velocity|initial_positions|initial_velocities|damping|stiffness_damping|viscosity|pin_path|friction"
    r"|kinetic_friction|accelerations|mesh\.vertices|plasticity\.\w+|rest_shape\.\w+|material\.young|material\.poisson|stiffness|pressure"
    r"|target_volume|drag|(skin\.)?goals\.(targets|frequency|weights))"
    r"|forces\[\d+\]\.(velocity|drag|strength|flow|damping|size|weight|origin|axis)"
    r"|contact\.(stiffness|distance|friction|kinetic_friction)"
    r"|colliders\[\d+\]\.(friction|kinetic_friction)"
)


def collect(scene: Scene) -> tuple[Scene, dict[str, Tensor]]:
    """The scene with numbers alone, and the tensors by where they stand in it, such as
    ``bodies[0].material.young``.

    Raises:
        SceneError: when one stands where nothing can be differentiated by.
    """
    leaves = _under("", tracked(scene))
    if scene.ground is not None:
        leaves |= _under("ground.", tracked(scene.ground))
    if scene.contact is not None:
        leaves |= _under("contact.", tracked(scene.contact))
    for index, collider in enumerate(scene.colliders):
        leaves |= _under(f"colliders[{index}].", tracked(collider))
    for index, force in enumerate(scene.forces):
        leaves |= _under(f"forces[{index}].", tracked(force))
    for index, absorber in enumerate(scene.absorbers):
        leaves |= _under(f"absorbers[{index}].", tracked(absorber))
    bodies = []
    for index, body in enumerate(scene.bodies):
        plain_body, tensors = _collect_body(body)
        leaves |= _under(f"bodies[{index}].", tensors)
        bodies.append(plain_body)
    for place, tensor in leaves.items():
        if not _KNOWN.fullmatch(place):
            refuse_tracked(tensor, place)
    plain_scene = copy(scene)
    plain_scene.bodies = bodies
    return plain_scene, leaves


def _collect_body(body: SoftBody) -> tuple[SoftBody, dict[str, Tensor]]:
    tensors, plain_body = tracked(body), copy(body)
    moduli = {name: getattr(body.material, name) for name in PARAMETERS}
    moduli = {name: value for name, value in moduli.items() if is_tracked(value)}
    tensors |= _under("material.", moduli)
    if moduli:
        numbers = {name: plain(value) for name, value in moduli.items()}
        plain_body.material = replace(body.material, **numbers)
    tensors |= _under("mesh.", tracked(body.mesh))
    tensors |= _under("plasticity.", tracked(body.plasticity))
    tensors |= _under("rest_shape.", tracked(body.rest_shape))
    tensors |= _under("goals.", tracked(body.goals))
    if body.skin is not None:
        tensors |= _under("skin.goals.", tracked(body.skin.goals))
        tensors |= _under("skin.rest_shape.", tracked(body.skin.rest_shape))
    return plain_body, tensors


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + name: tensor for name, tensor in tensors.items()}
