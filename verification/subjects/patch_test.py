# SPDX-License-Identifier: GPL-3.0-or-later
"""An affine map of the surface is one of the inside."""

from __future__ import annotations

import numpy as np

from supple.core import Scene, Simulator, SoftBody

from ..check import Check, Subject, at_most, largest_share
from ..expected import Model, models
from ..laws import law_of
from ..meshes import irregular_block

YOUNG, POISSON = 1e5, 0.3
# Stretched, sheared and turned.
AFFINE = np.array([[1.15, 0.2, -0.1], [-0.05, 0.9, 0.15], [0.1, -0.1, 1.1]])


def run() -> Subject:
    return Subject(
        title="Patch test",
        text="The surface of a cube whose inner vertices lie irregularly is moved by one affine "
        "map. The vertices inside start elsewhere, and `settle()` has to bring them to the same "
        "map. Every tet then has the same stress. Linear tets can represent just that, and an "
        "error in shape gradients, forces or the search would show.",
        source="Irons and Razzaque, “Experience with the patch test”, 1972; the stress of the map "
        "from `verification/laws.py`, which shares no code with the solver.",
        checks=[check for model in models() for check in _checks(model)],
    )


def _checks(model: Model) -> list[Check]:
    mesh = irregular_block()
    expected = mesh.vertices @ AFFINE.T
    held = np.unique(mesh.surface)
    start = expected + 0.02 * np.random.default_rng(1).normal(size=expected.shape)
    start[held] = expected[held]
    material = model.kind(YOUNG, POISSON)
    body = SoftBody(mesh, material, pinned=held, initial_positions=start)
    rest = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), device="cpu").settle()
    corners = rest.positions[0][mesh.tets]
    gradients = np.einsum("maj,mak->mjk", corners.numpy(), mesh.shape_gradients)
    stress = material.first_piola(corners.new_tensor(gradients)).numpy()
    law = law_of(model.name, YOUNG, POISSON)
    apart = float(np.abs(rest.positions[0].numpy() - expected).max())
    return [
        at_most(f"{model.label}: farthest from the affine map", apart, 1e-10, "m"),
        at_most(
            f"{model.label}: stress off that of the map, share",
            largest_share(stress, law.stress(AFFINE)),
            1e-8,
        ),
    ]
