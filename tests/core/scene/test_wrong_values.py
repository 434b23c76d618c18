# SPDX-License-Identifier: GPL-3.0-or-later
"""Test that a value of the wrong kind is refused when a member of a scene gets it, in words that
name it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import (
    Absorber,
    Attachment,
    Channel,
    Collider,
    Contact,
    ContactSurface,
    Falloff,
    Fluid,
    ForceField,
    Goals,
    Ground,
    Paint,
    PairFriction,
    Plasticity,
    PosedStart,
    Release,
    RestShape,
    RunStart,
    Scene,
    SceneError,
    Skin,
    SoftBody,
    Sphere,
    Stitches,
    SurfaceMesh,
    SurfacePaint,
    VelocityGrid,
    Wind,
)
from supple.core.scene.rest_shape import TetControl, TetRestShape
from supple.core.tracked import tracked
from supple.verification.meshes import block

MESH = block((1, 1, 1), (0.1, 0.1, 0.1))
POINTS, COUNT = MESH.vertices, len(MESH.vertices)
FACES = np.array([[0, 1, 2]])

DESCRIPTIONS: dict[type, dict[str, Any]] = {
    Absorber: {"vertices": POINTS, "triangles": FACES},
    Attachment: {"body": 0, "points": [0], "other": 1},
    Channel: {"samples": np.zeros((2, 3))},
    Collider: {"vertices": POINTS, "triangles": FACES},
    Contact: {},
    ContactSurface: {"points": POINTS, "triangles": FACES},
    Falloff: {},
    Fluid: {},
    ForceField: {"kind": "force"},
    Goals: {"vertices": [0], "targets": POINTS[:1]},
    Ground: {},
    Paint: {"setting": "young", "factors": np.ones(COUNT)},
    PairFriction: {"first": "Ball", "second": "Cup", "friction": 0.5},
    Plasticity: {"yield_stress": 1e4},
    PosedStart: {"points": POINTS},
    Release: {},
    RestShape: {"displacements": np.zeros((1, COUNT, 3)), "amounts": [1.0]},
    RunStart: {"mesh": MESH, "positions": POINTS, "velocities": 0.0 * POINTS},
    Scene: {"bodies": [SoftBody(MESH)]},
    Skin: {"points": POINTS, "pinned": [0], "pin_path": POINTS[:1]},
    SoftBody: {"mesh": MESH, "pinned": [0]},
    Sphere: {"center": (0.0, 0.0, 0.0), "radius": 1.0},
    Stitches: {"body": 0, "points": [0], "other": 1},
    SurfaceMesh: {"vertices": POINTS, "triangles": FACES},
    SurfacePaint: {"points": POINTS, "triangles": FACES, "factors": np.ones(COUNT)},
    TetControl: {
        "vertices": POINTS,
        "tets": MESH.tets,
        "by": "forces",
        "channel": Channel.constant(POINTS),
    },
    TetRestShape: {"vertices": POINTS, "tets": MESH.tets, "rest": POINTS},
    VelocityGrid: {"velocities": np.zeros((2, 2, 2, 3)), "matrix": np.eye(3, 4)},
    Wind: {"velocity": (0.0, 0.0, 0.0)},
}
MEMBERS = [
    pytest.param(kind, member.name, id=f"{kind.__name__}.{member.name}")
    for kind in DESCRIPTIONS
    for member in dataclasses.fields(kind)
    if member.type != "str"  # any word
]


def made(kind: type, name: str, value: object) -> Any:
    return kind(**{**DESCRIPTIONS[kind], name: value})


@pytest.mark.parametrize(("kind", "name"), MEMBERS)
def test_what_is_neither_numbers_nor_of_the_kind_is_refused(kind: type, name: str) -> None:
    for value in ("much", object(), {"a": 1.0}, [[1.0, 2.0], [3.0]], math.nan * np.ones((2, 2))):
        if kind is Channel and isinstance(value, np.ndarray):
            continue  # What it is of says which numbers it has.
        with pytest.raises(SceneError):
            made(kind, name, value)


@pytest.mark.parametrize(("kind", "name"), MEMBERS)
def test_a_tensor_that_requires_grad_is_known_or_refused(kind: type, name: str) -> None:
    for value in (torch.tensor(0.5), torch.ones(3), torch.as_tensor(POINTS)):
        tensor = value.clone().requires_grad_()
        try:
            item = made(kind, name, tensor)
        except SceneError:
            continue
        assert tracked(item)[name] is tensor


@pytest.mark.parametrize("kind", [Fluid, PairFriction, Release, Sphere, Stitches])
def test_what_nothing_can_be_differentiated_by_says_so(kind: type) -> None:
    numbers = {Fluid: "level", PairFriction: "friction", Release: "force", Sphere: "radius"}
    with pytest.raises(SceneError, match=r"requires grad, but nothing .* give numbers"):
        made(kind, numbers.get(kind, "gap"), torch.tensor(0.5, requires_grad=True))


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        (Fluid, "density", "much", "Fluid: the density in kg/m³ must be a number, not 'much'"),
        (Fluid, "drag", [1.0], r"drag coefficient must be one number, not .* shape \(1,\)"),
        (Fluid, "damping", -1.0, "damping per second must be 0 or more, not -1"),
        (PairFriction, "friction", None, "Ball on Cup: the friction must be a number, not None"),
        (Release, "frame", math.nan, "frame of a release must be a whole number"),
        (Release, "force", -2.0, "must be above 0, not -2"),
        (Goals, "weights", np.ones(2), r"have the shape \(2,\), but there are 1 vertices"),
        (Contact, "pairs", [1], "Contact: pairs must be a list of PairFriction alone"),
        (SoftBody, "goals", 1, "goals must be of the kind Goals, or None, and is of the kind int"),
        (SoftBody, "mesh", None, "mesh must be of the kind TetMesh or SurfaceMesh and is None"),
        (SoftBody, "self_contact", "no", "Soft body: self_contact must be True or False, not 'no'"),
        (Goals, "sag_free", 1, "Goals: sag_free must be True or False, not 1"),
        (Contact, "self_contact", None, "Contact: self_contact must be True or False, not None"),
        (SoftBody, "volume_stiffness", -1.0, "stiffness of its volume, in Pa, must be above 0"),
        (Stitches, "other", 0.5, "index of the other body must be a whole number, not 0.5"),
        (Ground, "response", "soft", "response must be one of barrier, projection, not 'soft'"),
        (
            Attachment,
            "to",
            "air",
            "the kind of the other object must be one of body, collider, not 'air'",
        ),
        (SurfaceMesh, "edge_length", 0.0, "edge length of tetrahedra in metres must be above 0"),
        (Scene, "forces", 9.81, "forces of a scene must be a list, and are of the kind float"),
    ],
)
def test_a_refusal_names_the_member_and_what_it_may_be(
    kind: type, name: str, value: object, message: str
) -> None:
    with pytest.raises(SceneError, match=message):
        made(kind, name, value)
