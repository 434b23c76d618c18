# SPDX-License-Identifier: GPL-3.0-or-later
"""What every two objects of a scene have together, on autograd's tape: stiffness and distance of
contact, and coefficients of friction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..potentials.contact.stiffness import YOUNG_RATIO
from ..scene.contact_distances import contact_distances
from ..scene.contact_settings import Collider, Contact
from ..scene.friction import NO_FRICTION, FrictionTable
from ..scene.ground import Sphere
from ..system import System

#: The tensor in a place of a scene, or of the number that stands there.
Value = Callable[[str, Any], Tensor]


def barrier_tables(system: System, young: Tensor, value: Value) -> dict[str, Tensor]:
    """``contact stiffness`` κ and ``contact distance`` d̂, (O, O) of bodies, then mesh colliders.

    Args:
        system: with contact.
        young: (B,) means of Young's moduli, in pascals.
        value: of places of its scene.
    """
    scene = system.scene
    contact = scene.contact
    assert contact is not None
    distances = value("", contact_distances(scene))
    if contact.distance is not None:
        chosen = value("contact.distance", contact.distance)
        distances = torch.where(distances > 0.0, chosen, 0.0)
    if contact.stiffness is not None:
        stiffness = value("contact.stiffness", contact.stiffness).expand_as(distances)
    else:
        # As ``physical_stiffness``: a body and a collider have the body's.
        colliders = len(scene.meshes)
        first = torch.cat([young, young.new_zeros(colliders)])[:, None]
        both, either = first * first.T, torch.maximum(first, first.T)
        roots = torch.where(both > 0.0, both, 1.0).sqrt()
        stiffness = YOUNG_RATIO * torch.where(both > 0.0, roots, either)
    return {"contact stiffness": stiffness, "contact distance": distances}


def friction_tables(system: System, value: Value) -> tuple[Tensor, Tensor]:
    """(O, O) static and kinetic coefficients as ``FrictionTable`` has them: of bodies, mesh
    colliders, spheres, and the ground."""
    scene = system.scene
    owners: list[tuple[str, Any]] = [(f"bodies[{k}]", own) for k, own in enumerate(scene.bodies)]
    colliders = [(f"colliders[{k}]", own) for k, own in enumerate(scene.colliders)]
    for kind in (Collider, Sphere):
        owners += [pair for pair in colliders if isinstance(pair[1], kind)]
    if scene.ground is not None:
        owners.append(("ground", scene.ground))
    known = FrictionTable(scene)
    found = []
    for table, slides in zip(known.of_all, (False, True), strict=True):
        own = [_coefficient(*owner, slides, value) for owner in owners]
        default = _coefficient("contact", scene.contact or Contact(), slides, value)
        assert default is not None
        whole = _combined(own, default)
        found.append(torch.where(torch.as_tensor(known.is_named), value("", table), whole))
    static, kinetic = found
    return static, torch.minimum(kinetic, static)


def _combined(own: list[Tensor | None], default: Tensor) -> Tensor:
    """(O, O): the geometric mean, where both have one."""
    has = torch.tensor([coefficient is not None for coefficient in own])
    values = torch.stack([default if coefficient is None else coefficient for coefficient in own])
    first, second = values[:, None].expand(len(own), -1), values.expand(len(own), -1)
    roots = (first * second).clamp(min=NO_FRICTION).sqrt()
    means = torch.where(first == second, 0.5 * (first + second), roots)
    one = torch.where(has[:, None], first, second)
    return torch.where(has[:, None] & has, means, one)


def _coefficient(place: str, item: Any, slides: bool, value: Value) -> Tensor | None:
    member = "kinetic_friction" if slides and item.kinetic_friction is not None else "friction"
    own = getattr(item, member)
    return None if own is None else value(f"{place}.{member}", own)
