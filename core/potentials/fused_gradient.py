# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic gradient on a CPU as one compiled loop over tets and one over their corners.

Passes over whole arrays are bound by memory: fused, a tet's intermediate values never leave the
registers. The loops are compiled once and kept on disk by numba.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..materials import Material, NeoHookean, StableNeoHookean

Loop = TypeVar("Loop", bound=Callable[..., Any])


def _find_numba() -> Any:
    try:
        return import_module("numba")
    except ImportError:
        return None


numba = _find_numba()

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 6000

#: The laws that the compiled loop knows, by the number it is given.
LAWS: list[type[Material]] = [StableNeoHookean, NeoHookean]


def is_compiled() -> bool:
    """Whether CPU runs get the compiled loop."""
    return numba is not None


def fused_gradient(
    material: Material, corners: Tensor, metric: Tensor, inverse_volumes: Tensor
) -> FusedGradient | None:
    """The compiled gradient, or None where there is no numba, no CPU or no law for it.

    Args:
        corners: (4, M) int32 vertex indices.
        metric: V D_m⁻¹ D_m⁻ᵀ, (3, 3, M) in m.
        inverse_volumes: (M,) in 1/m³.
    """
    if numba is None or corners.is_cuda or type(material) not in LAWS:
        return None
    return FusedGradient(material, corners, metric, inverse_volumes)


class FusedGradient:
    """See ``fused_gradient``."""

    def __init__(
        self, material: Material, corners: Tensor, metric: Tensor, inverse_volumes: Tensor
    ) -> None:
        count = corners.shape[1]
        self._corners = corners.numpy()
        self._forces = np.empty((9, count), dtype=metric.numpy().dtype)
        unique = [metric[i, j] for i in range(3) for j in range(i, 3)]
        moduli = [
            torch.as_tensor(modulus, dtype=metric.dtype).expand(count)
            for modulus in (material.mu, material.lam)
        ]
        # One row each, so that a tet's constants are read in step.
        self._constants = torch.stack([*unique, inverse_volumes, *moduli]).numpy()
        precision = self._forces.dtype.type
        self._low, self._high = (precision(limit) for limit in material.volume_limits())
        self._law = LAWS.index(type(material))
        self._threads = max(1, min(numba.config.NUMBA_NUM_THREADS, count // TETS_PER_THREAD))

    def add(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        numba.set_num_threads(self._threads)
        _edge_forces(
            positions.numpy(),
            self._corners,
            self._constants,
            self._law,
            self._low,
            self._high,
            self._forces,
        )
        _sum_at_vertices(self._forces, self._corners, out.numpy())


def _compiled(parallel: bool) -> Callable[[Loop], Loop]:
    """A decorator that compiles where numba is installed; without it the loops are never called."""
    if numba is None:
        return lambda function: function
    # All of fast-math but the promise that nothing is ever NaN or infinite: a diverging run is
    # found by just that.
    relaxed = {"reassoc", "nsz", "arcp", "contract"}
    options = {"parallel": parallel, "fastmath": relaxed, "error_model": "numpy"}

    def compiled(function: Loop) -> Loop:
        try:
            loop: Loop = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # nowhere to keep it: compile each time
            loop = numba.njit(**options)(function)
        return loop

    return compiled


_range = range if numba is None else numba.prange
_stable_neo_hookean = _compiled(parallel=False)(StableNeoHookean.law)
_neo_hookean = _compiled(parallel=False)(NeoHookean.law)


@_compiled(parallel=True)
def _edge_forces(
    positions: Any, corners: Any, constants: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """The energy's gradient by the three edges of each tet, ``out`` (9, M): see ``Elasticity``."""
    x, y, z = positions[0], positions[1], positions[2]
    sixth = out.dtype.type(1.0 / 6.0)
    for e in _range(corners.shape[1]):
        v0, v1, v2, v3 = corners[0, e], corners[1, e], corners[2, e], corners[3, e]
        x1, y1, z1 = x[v1] - x[v0], y[v1] - y[v0], z[v1] - z[v0]
        x2, y2, z2 = x[v2] - x[v0], y[v2] - y[v0], z[v2] - z[v0]
        x3, y3, z3 = x[v3] - x[v0], y[v3] - y[v0], z[v3] - z[v0]
        s11, s12, s13 = constants[0, e], constants[1, e], constants[2, e]
        s22, s23, s33 = constants[3, e], constants[4, e], constants[5, e]
        # V D S
        ax1, ax2, ax3 = (
            x1 * s11 + x2 * s12 + x3 * s13,
            x1 * s12 + x2 * s22 + x3 * s23,
            x1 * s13 + x2 * s23 + x3 * s33,
        )
        ay1, ay2, ay3 = (
            y1 * s11 + y2 * s12 + y3 * s13,
            y1 * s12 + y2 * s22 + y3 * s23,
            y1 * s13 + y2 * s23 + y3 * s33,
        )
        az1, az2, az3 = (
            z1 * s11 + z2 * s12 + z3 * s13,
            z1 * s12 + z2 * s22 + z3 * s23,
            z1 * s13 + z2 * s23 + z3 * s33,
        )
        # cof D
        cx1, cy1, cz1 = y2 * z3 - z2 * y3, z2 * x3 - x2 * z3, x2 * y3 - y2 * x3
        cx2, cy2, cz2 = y3 * z1 - z3 * y1, z3 * x1 - x3 * z1, x3 * y1 - y3 * x1
        cx3, cy3, cz3 = y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2
        inverse_volume, mu, lam = constants[6, e], constants[7, e], constants[8, e]
        i_c = inverse_volume * (
            x1 * ax1
            + x2 * ax2
            + x3 * ax3
            + y1 * ay1
            + y2 * ay2
            + y3 * ay3
            + z1 * az1
            + z2 * az2
            + z3 * az3
        )
        j = sixth * inverse_volume * (x1 * cx1 + y1 * cy1 + z1 * cz1)
        j = min(max(j, low), high)
        if law == 0:
            p, q = _stable_neo_hookean(i_c, j, mu, lam)
        else:
            p, q = _neo_hookean(i_c, j, mu, lam)
        q = sixth * q
        out[0, e], out[1, e], out[2, e] = p * ax1 + q * cx1, p * ax2 + q * cx2, p * ax3 + q * cx3
        out[3, e], out[4, e], out[5, e] = p * ay1 + q * cy1, p * ay2 + q * cy2, p * ay3 + q * cy3
        out[6, e], out[7, e], out[8, e] = p * az1 + q * cz1, p * az2 + q * cz2, p * az3 + q * cz3


@_compiled(parallel=False)
def _sum_at_vertices(forces: Any, corners: Any, out: Any) -> None:
    """Adds edge forces (9, M) to vertices (3, N): in one order, so that the sum is the same."""
    for e in range(corners.shape[1]):
        for i in range(3):
            first, second, third = forces[3 * i, e], forces[3 * i + 1, e], forces[3 * i + 2, e]
            out[i, corners[1, e]] += first
            out[i, corners[2, e]] += second
            out[i, corners[3, e]] += third
            out[i, corners[0, e]] -= first + second + third
