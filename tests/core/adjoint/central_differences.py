# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients beside central differences."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from supple.core import Frame, Scene
from supple.core.adjoint import simulate
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    ImplicitEuler,
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.verification.meshes import block

Values = dict[str, Any]
#: What a simulation gives for values of its parameters, numbers or tensors.
Outcome = Callable[[Values], list[Tensor]]

#: A bar, and its top.
MESH = block((1, 1, 2), (0.1, 0.1, 0.2), (0.0, 0.0, 0.3))
PINNED = np.flatnonzero(MESH.vertices[:, 2] > 0.49)
STEPS: dict[str, tuple[Integrator, Values]] = {
    "implicit Euler": (ImplicitEuler(tolerance=1e-10), {"frames": 2}),
    "BDF2": (BDF2(tolerance=1e-10), {"frames": 2, "substeps": 2}),
    "SDIRK2": (SDIRK2(tolerance=1e-10), {"frames": 2, "substeps": 2}),
    "symplectic Euler": (SymplecticEuler(), {"frames": 2, "substeps": 16}),
    "midpoint": (Midpoint(), {"frames": 1, "substeps": 16}),
    "Runge-Kutta": (RungeKutta4(), {"frames": 1, "substeps": 11}),
}


def outcome_of(frames: list[Frame]) -> list[Tensor]:
    return [part for frame in frames for part in (frame.positions[0], 0.1 * frame.velocities[0])]


def compared(
    scene_of: Callable[[Values], Scene],
    steps: tuple[Integrator, Values],
    values: Mapping[str, Any],
    **more: Any,
) -> Comparison:
    """A comparison for scenes that an integrator simulates; ``more`` replaces its options."""
    integrator, options = steps
    return Comparison(
        lambda given: outcome_of(simulate(scene_of(given), integrator, **options | more)), values
    )


class Comparison:
    """A random sum of what comes out, and its gradient by all parameters at once."""

    def __init__(self, outcome: Outcome, values: Mapping[str, Any]) -> None:
        self._outcome = outcome
        self._values = {
            name: torch.as_tensor(own, dtype=torch.float64) for name, own in values.items()
        }
        leaves = {name: own.clone().requires_grad_() for name, own in self._values.items()}
        found = outcome(leaves)
        random = torch.Generator().manual_seed(1)
        self._weights = [torch.randn(o.shape, generator=random, dtype=o.dtype) for o in found]
        self._sum(found).backward()
        self.gradients: dict[str, Tensor] = {}
        for name, leaf in leaves.items():
            assert leaf.grad is not None
            self.gradients[name] = leaf.grad

    def _sum(self, found: list[Tensor]) -> Tensor:
        pairs = zip(found, self._weights, strict=True)
        return torch.stack([(own * weight).sum() for own, weight in pairs]).sum()

    def check(
        self,
        *names: str,
        idle: tuple[str, ...] = (),
        rel: float = 1e-5,
        least: float = 1e-7,
        spread: float = 1e-5,
    ) -> None:
        """Along one direction of these parameters, of all where none is named, that is random
        within each. Each has the same share in the slope: none hides what is wrong with another.

        Args:
            idle: those of them that change nothing here.
            least: that the slope by each other one has to be.
        """
        along = {name: self._direction(name) for name in names or self._values}
        slopes = {name: float((self.gradients[name] * own).sum()) for name, own in along.items()}
        smallest = min(abs(slope) for name, slope in slopes.items() if name not in idle)
        assert smallest > least, slopes
        shares = {
            name: own if name in idle else smallest / slopes[name] * own
            for name, own in along.items()
        }
        expected = (len(along) - len(idle)) * smallest
        if self._difference(shares, spread) != pytest.approx(expected, rel=rel):
            alone = {name: self._difference({name: own}, spread) for name, own in along.items()}
            assert slopes == pytest.approx(alone, rel=rel, abs=1e-6 * least)
            pytest.fail(f"each by itself is right, all at once are not: {slopes}")

    def _direction(self, name: str) -> Tensor:
        own = self._values[name]
        random = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        size = own.abs().mean().clamp(min=0.02)
        return size * torch.randn(own.shape, generator=random, dtype=torch.float64)

    def _difference(self, along: Mapping[str, Tensor], spread: float) -> float:
        """The slope along directions of parameters, by central differences."""
        sums = []
        for sign in (1.0, -1.0):
            moved = self._values | {
                name: self._values[name] + sign * spread * own for name, own in along.items()
            }
            numbers = {key: v.numpy() if v.ndim else v.item() for key, v in moved.items()}
            sums.append(float(self._sum(self._outcome(numbers))))
        return (sums[0] - sums[1]) / (2.0 * spread)
