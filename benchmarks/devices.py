# SPDX-License-Identifier: GPL-3.0-or-later
"""Frame times on CUDA beside the processor.

A block of jelly falls on the ground, in each device's process of its own.

    python -m benchmarks.devices DEVICE    all cases on a device, as JSON
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

import torch

from .printed import printed
from .store import WHOLE

FRAMES = 12
HEIGHT, EDGE = 0.05, 1.0
YOUNG, POISSON = 3e4, 0.45
#: Integrators, whether surfaces may touch, and cells along an edge of the block, of six tets each.
CASES = {
    "Symplectic Euler": ("SymplecticEuler", False, (8, 14, 21, 33)),
    "Implicit Euler": ("ImplicitEuler", False, (8, 14, 21, 33)),
    "XPBD": ("XPBD", False, (8, 14, 21, 33)),
    "Automatic, with contact": ("Automatic", True, (8, 14)),
}


def parts() -> dict[str, Callable[[], list[dict[str, Any]]]]:
    """No part where there is no CUDA device."""
    return {WHOLE: _compare} if torch.cuda.is_available() else {}


def _compare() -> list[dict[str, Any]]:
    """One row a case and size."""
    on_cuda, on_host = (printed("devices", device) for device in ("cuda", "cpu"))
    return [
        {
            **{name: host[name] for name in ("integrator", "tets", "steps_a_frame")},
            "cpu_ms": host["ms_a_frame"],
            "cuda_ms": cuda["ms_a_frame"],
            "ratio": round(host["ms_a_frame"] / cuda["ms_a_frame"], 2),
            "first_frame_cuda_ms": cuda["first_frame_ms"],
            "difference_m": abs(host["height_m"] - cuda["height_m"]),
        }
        for host, cuda in zip(on_host, on_cuda, strict=True)
    ]


def _measure(device: str, case: str, cells: int) -> dict[str, Any]:
    from supple.core import Contact, Ground, Scene, Simulator, SoftBody, integrators
    from supple.core.materials import StableNeoHookean
    from supple.verification.meshes import block

    name, has_contact, _ = CASES[case]
    mesh = block((cells,) * 3, (EDGE,) * 3, (0.0, 0.0, HEIGHT))
    body = SoftBody(mesh, StableNeoHookean(YOUNG, POISSON))
    scene = Scene([body], ground=Ground(), contact=Contact() if has_contact else None)
    simulator = Simulator(scene, getattr(integrators, name)(), device=device)
    frames = list(simulator.run(FRAMES))
    seconds = [frame.report.seconds for frame in frames]
    return {
        "integrator": case,
        "tets": len(mesh.tets),
        "steps_a_frame": statistics.mean(frame.report.substeps for frame in frames),
        "first_frame_ms": round(1e3 * seconds[0], 1),
        "ms_a_frame": round(1e3 * statistics.mean(seconds[1:]), 2),
        "height_m": float(frames[-1].positions[0][:, 2].mean()),
    }


def _all_cases(device: str) -> list[dict[str, Any]]:
    for case, (_, _, sizes) in CASES.items():
        _measure(device, case, sizes[0])  # loads what is compiled
    return [
        _measure(device, case, cells) for case, (_, _, sizes) in CASES.items() for cells in sizes
    ]


if __name__ == "__main__":
    print(json.dumps(_all_cases(sys.argv[1])))
