# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes in which surfaces are close, and their contact."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from supple.core import Collider, Contact, ContactSurface, Scene, SoftBody, TetMesh
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.verification.meshes import block

REACH = 0.05
SLIP = 1e-3
FORMULATIONS = ["convergent", "original"]
TRIANGLE = np.array([[-5.0, -5, 0], [5, -5, 0], [0, 9, 0]])
#: A table much wider than what lies on it.
TABLE = np.array([[-9.0, -8, 0], [9, -8, 0], [9, 8, 0], [-9, 8, 0]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])
BOX_FACES = block((1, 1, 1)).surface


def contact_of(scene: Scene) -> MeshContact:
    solids = tetrahedralize_scene(scene)[0]
    meshes = [body.mesh for body in solids.bodies]
    mass = np.concatenate([mesh.lumped_mass(1000.0) for mesh in meshes])
    return MeshContact(solids, meshes, float(mass.mean()))


def rest(scene: Scene) -> torch.Tensor:
    """(3, N)."""
    return torch.as_tensor(np.concatenate([body.mesh.vertices for body in scene.bodies]).T.copy())


def gradient(contact: MeshContact, positions: torch.Tensor) -> torch.Tensor:
    """(3, N)."""
    out = torch.zeros_like(positions)
    contact.add_gradient(positions, out)
    return out


def stack(formulation: str, surface: str, friction: dict[str, float]) -> Scene:
    """A block above another one, close to it, and over a table."""
    meshes = [block((2, 1, 1)), block((1, 2, 1), (0.8, 0.7, 0.9), (0.13, 0.11, 1.0 + 0.4 * REACH))]
    around = None
    if surface == "embedded":
        # Not quite that of the tetrahedra it lies in.
        box = block((1, 1, 1), (0.8, 0.7, 0.9), (0.13, 0.11, 1.0 + 0.4 * REACH)).vertices
        box[:, 0] += 0.05 * box[:, 1]
        around = ContactSurface(box, BOX_FACES)
    bodies = [
        SoftBody(meshes[0], StableNeoHookean(1e5, 0.3)),
        SoftBody(meshes[1], StableNeoHookean(1e5, 0.3), contact_surface=around),
    ]
    contact = Contact(distance=REACH, formulation=formulation, stiffness=1e6, **friction)
    table = Collider(TABLE - [0.0, 0.0, 0.5 * REACH], HALVES)
    return Scene(bodies, colliders=[table], contact=contact)


def pyramid(**contact) -> tuple[MeshContact, torch.Tensor, list[slice]]:
    """Ever smaller bodies on top of each other over a table, half their reach apart; no corner is
    near an edge of what lies below it, so that all forces are vertical."""
    sizes = [(1.6, 1.6, 0.5), (1.2, 0.6, 0.5), (0.3, 0.45, 0.5)]
    bodies, ends = [], [0]
    for level, (size, own) in enumerate(zip(sizes, (0.9, 0.4, None), strict=True)):
        corner = (-0.5 * size[0], -0.5 * size[1], (0.5 + 0.5 * REACH) * level + 0.5 * REACH)
        mesh = block((1, 1, 1), size, corner)
        bodies.append(SoftBody(mesh, friction=own, name=f"Level {level}"))
        ends.append(ends[-1] + len(mesh.vertices))
    table = Collider(TRIANGLE, [[0, 1, 2]], friction=0.2, kinetic_friction=0.1, name="Table")
    scene = Scene(bodies, colliders=[table], contact=Contact(distance=REACH, **contact))
    where = [slice(a, b) for a, b in itertools.pairwise(ends)]
    return contact_of(scene), rest(scene), where


def tet(*corners: tuple[float, float, float]) -> SoftBody:
    return SoftBody(TetMesh(corners, [[0, 1, 2, 3]]))


DART = tet((0.0, 0, 1), (0.3, 0, 2), (-0.2, 0.3, 2), (-0.2, -0.3, 2))
