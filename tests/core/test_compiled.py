# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# A turned and stretched tet many times over: each is rounded alike, or not.
SCRIPT = """
import numpy as np
from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import SymplecticEuler
from supple.core.materials import CorotatedLinear

random = np.random.default_rng(1)
corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
mesh = TetMesh(np.tile(corners, (200, 1)), np.arange(800).reshape(200, 4))
start = mesh.vertices + random.normal(scale=0.1, size=mesh.vertices.shape)
body = SoftBody(mesh, CorotatedLinear(1e4, 0.4), initial_positions=start)
(frame,) = Simulator(Scene([body]), SymplecticEuler(), device="cpu").run(1)
print(frame.positions[0].numpy().tobytes().hex())
"""


def test_loops_compiled_anew_give_the_bits_of_those_taken_from_the_disk(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled, kept = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    )
    assert list(tmp_path.rglob("*.nbi"))
    assert compiled == kept
