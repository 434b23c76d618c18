# SPDX-License-Identifier: GPL-3.0-or-later
"""The device that a scene is computed on."""

from __future__ import annotations

import torch

from .errors import SceneError
from .geometry.tet_mesh import TetMesh
from .scene.scene import Scene

# The number of tets from which CUDA is faster (``benchmarks/devices.py``). With fewer, launching
# its passes takes longer than compiled loops.
CUDA_LEAST_TETS = 50_000


def fastest_device(scene: Scene) -> str:
    """``cuda`` where there is one and a prepared scene is quicker on it, else ``cpu``.

    Contact of surfaces is computed on the CPU; explicit steps support it on the CPU only.
    """
    meshes = [body.mesh for body in scene.bodies]
    tets = sum(len(mesh.tets) for mesh in meshes if isinstance(mesh, TetMesh))
    is_quicker = scene.contact is None and tets >= CUDA_LEAST_TETS
    return "cuda" if is_quicker and torch.cuda.is_available() else "cpu"


def find_device(name: str) -> torch.device:
    """``cpu`` or ``cuda`` as a torch device.

    Raises:
        SceneError: when it is another, or CUDA and there is none.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise SceneError(
            "This computer has no CUDA device that torch can use; choose CPU or Automatic."
        )
    if name not in ("cpu", "cuda"):
        raise SceneError(f"The device must be auto, cpu or cuda, not {name!r}.")
    return torch.device(name)
