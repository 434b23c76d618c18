# SPDX-License-Identifier: GPL-3.0-or-later
"""The physics of Supple. Needs numpy and torch, never Blender.

Names are loaded on first use, so that a process that only describes a scene, as Blender does,
never imports torch.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import InstabilityError, JobError, SceneError, SuppleError
    from .geometry.embedding import Embedding, embed
    from .geometry.tet_mesh import TetMesh
    from .meshing import tetrahedralize
    from .preparation.sag import default_young
    from .scene.channel import Channel
    from .scene.contact_settings import (
        Attachment,
        Collider,
        Contact,
        ContactSurface,
        Ground,
        PairFriction,
        Sphere,
    )
    from .scene.forces import Absorber, Falloff, Fluid, ForceField, VelocityGrid, Wind
    from .scene.goals import Goals
    from .scene.paint import Paint, SurfacePaint
    from .scene.rest_shape import Plasticity, RestShape
    from .scene.scene import Scene
    from .scene.skin import Skin, SurfaceMesh
    from .scene.soft_body import SoftBody
    from .scene.start import PosedStart, RunStart
    from .scene.stitches import Release, Stitches
    from .simulator import Frame, Simulator

_HOMES = {
    "Absorber": "scene.forces",
    "Attachment": "scene.contact_settings",
    "Channel": "scene.channel",
    "Collider": "scene.contact_settings",
    "Contact": "scene.contact_settings",
    "ContactSurface": "scene.contact_settings",
    "Embedding": "geometry.embedding",
    "Falloff": "scene.forces",
    "ForceField": "scene.forces",
    "Fluid": "scene.forces",
    "Frame": "simulator",
    "Goals": "scene.goals",
    "Ground": "scene.contact_settings",
    "InstabilityError": "errors",
    "JobError": "errors",
    "Paint": "scene.paint",
    "SurfacePaint": "scene.paint",
    "PairFriction": "scene.contact_settings",
    "Plasticity": "scene.rest_shape",
    "RestShape": "scene.rest_shape",
    "Release": "scene.stitches",
    "PosedStart": "scene.start",
    "RunStart": "scene.start",
    "Scene": "scene.scene",
    "SceneError": "errors",
    "Simulator": "simulator",
    "Skin": "scene.skin",
    "SoftBody": "scene.soft_body",
    "Sphere": "scene.contact_settings",
    "Stitches": "scene.stitches",
    "SuppleError": "errors",
    "SurfaceMesh": "scene.skin",
    "TetMesh": "geometry.tet_mesh",
    "VelocityGrid": "scene.forces",
    "Wind": "scene.forces",
    "default_young": "preparation.sag",
    "embed": "geometry.embedding",
    "tetrahedralize": "meshing",
}

__all__ = [
    "Absorber",
    "Attachment",
    "Channel",
    "Collider",
    "Contact",
    "ContactSurface",
    "Embedding",
    "Falloff",
    "Fluid",
    "ForceField",
    "Frame",
    "Goals",
    "Ground",
    "InstabilityError",
    "JobError",
    "Paint",
    "PairFriction",
    "Plasticity",
    "PosedStart",
    "Release",
    "RestShape",
    "RunStart",
    "Scene",
    "SceneError",
    "Simulator",
    "Skin",
    "SoftBody",
    "Sphere",
    "Stitches",
    "SuppleError",
    "SurfaceMesh",
    "SurfacePaint",
    "TetMesh",
    "VelocityGrid",
    "Wind",
    "default_young",
    "embed",
    "tetrahedralize",
]


# Threads of OpenMP and of BLAS wait for each other in busy loops. Beside another process that is
# busy, such as a Blender that draws, they wait for a processor that their own waiting keeps busy,
# and the solver crawls. The OpenMP libraries of torch, numpy and others read this when they are
# loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# In powers of two of the processor's cycles.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
