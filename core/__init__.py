# SPDX-License-Identifier: GPL-3.0-or-later
"""The physics of Supple. Needs numpy and torch, never Blender.

Names are loaded on first use, so that a process that only describes a scene, as Blender does,
never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .channel import Channel
    from .contact_settings import Attachment, Collider, Contact, ContactSurface, PairFriction
    from .embedding import Embedding, embed
    from .errors import InstabilityError, JobError, SceneError, SuppleError
    from .scene import Ground, Scene, Skin, SoftBody, Sphere, SurfaceMesh
    from .self_weight import default_young
    from .simulator import Frame, Simulator
    from .tet_mesh import TetMesh
    from .tetrahedralizers import tetrahedralize

_HOMES = {
    "Attachment": "contact_settings",
    "Channel": "channel",
    "Collider": "contact_settings",
    "Contact": "contact_settings",
    "ContactSurface": "contact_settings",
    "Embedding": "embedding",
    "Frame": "simulator",
    "Ground": "scene",
    "InstabilityError": "errors",
    "JobError": "errors",
    "PairFriction": "contact_settings",
    "Scene": "scene",
    "SceneError": "errors",
    "Simulator": "simulator",
    "Skin": "scene",
    "SoftBody": "scene",
    "Sphere": "scene",
    "SuppleError": "errors",
    "SurfaceMesh": "scene",
    "TetMesh": "tet_mesh",
    "default_young": "self_weight",
    "embed": "embedding",
    "tetrahedralize": "tetrahedralizers",
}

__all__ = [
    "Attachment",
    "Channel",
    "Collider",
    "Contact",
    "ContactSurface",
    "Embedding",
    "Frame",
    "Ground",
    "InstabilityError",
    "JobError",
    "PairFriction",
    "Scene",
    "SceneError",
    "Simulator",
    "Skin",
    "SoftBody",
    "Sphere",
    "SuppleError",
    "SurfaceMesh",
    "TetMesh",
    "default_young",
    "embed",
    "tetrahedralize",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
