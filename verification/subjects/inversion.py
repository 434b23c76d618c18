# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that start inside out come back, or are refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from supple.core import Scene, SceneError, Simulator, SoftBody, TetMesh

from ..check import Check, Subject, at_most, near
from ..expected import Method, Model, methods, models
from ..meshes import block

YOUNG, POISSON, DAMPING, FRAMES = 1e5, 0.3, 4.0, 144
SEEDS = (0, 1)


def run() -> Subject:
    cases = [(method, model) for model in models() for method in methods()]
    checks = [
        check
        for method, model in cases
        if model.expected.recovers
        for start in method.expected.recovers_from
        for check in _recovery(method, model, start)
    ]
    refused = [
        _refusal(method, model)
        for method, model in cases
        if model.expected.refused and method.expected.kind == "implicit"
    ]
    silent = [m.label for m in models() if not (m.expected.recovers or m.expected.refused)]
    return Subject(
        title="Recovery from inversion",
        text=f"A cube of 384 tets (1 m, E = {YOUNG:g} Pa, ν = {POISSON:g}, a damping of "
        f"{DAMPING:g}/s, no gravity) starts with random vertex positions, {len(SEEDS)} times. Or "
        "it starts inside out (mirrored, and shaken by a thousandth). It has "
        f"{FRAMES / 24:g} s to come back. Then all distances "
        "between vertices must be those at rest, and the smallest volume ratio 1. A model that "
        "has no "
        "energy where tets are inverted must be refused by implicit steps.",
        source="The rest shape. Smith, de Goes and Kim, “Stable Neo-Hookean Flesh Simulation”, "
        "2018, claim it of their model.",
        checks=[*checks, *refused],
        note=f"Nothing is claimed of {', '.join(silent)}: their energy has other minima where tets "
        "are inverted, and bodies may rest there.",
    )


def _starts(mesh: TetMesh, start: str) -> list[NDArray[np.float64]]:
    noise = [np.random.default_rng(seed).random(mesh.vertices.shape) for seed in SEEDS]
    if start == "random":
        return noise
    return [mesh.vertices * [1.0, 1.0, -1.0] + 1e-3 * noise[0]]


def _simulator(
    model: Model, method: Method, mesh: TetMesh, start: NDArray[np.float64]
) -> Simulator:
    material = model.kind(YOUNG, POISSON)
    body = SoftBody(mesh, material, initial_positions=start, damping=DAMPING)
    return Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), method.usual(), device="cpu")


def _recovery(method: Method, model: Model, start: str) -> list[Check]:
    mesh = block((4, 4, 4))
    apart, ratio = 0.0, 1.0
    for positions in _starts(mesh, start):
        *_, last = _simulator(model, method, mesh, positions).run(FRAMES)
        off = np.abs(pdist(last.positions[0].numpy()) - pdist(mesh.vertices)).max()
        apart, ratio = max(apart, float(off)), min(ratio, last.report.minimum_volume_ratio)
    what = f"{model.label}, {method.label}, {start} start"
    return [
        at_most(f"{what}: distances off those at rest", apart, method.share(1e-3, "rest"), "m"),
        near(f"{what}: smallest volume ratio", ratio, 1.0, method.share(1e-3, "rest")),
    ]


def _refusal(method: Method, model: Model) -> Check:
    mesh = block((2, 2, 2))
    try:
        next(_simulator(model, method, mesh, mesh.vertices * [1.0, 1.0, -1.0]).run(1))
    except SceneError:
        refused = 1
    else:
        refused = 0
    return near(
        f"{model.label}, {method.label}: refuses a body inside out (1: yes)", refused, 1, 0.0
    )
