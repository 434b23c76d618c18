# SPDX-License-Identifier: GPL-3.0-or-later
"""The stress of every material and its derivative once more, written apart from the solver.

Index notation on (3, 3, …) arrays. Where the solver takes singular values apart, these take none:
invariants and cofactors, the Green strain, or the rotation of a polar decomposition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import polar

Array = Any
IDENTITY = np.eye(3)
PERMUTATION = np.zeros((3, 3, 3))
PERMUTATION[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1.0
PERMUTATION[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = -1.0


class Law(NamedTuple):
    """First Piola–Kirchhoff stress (3, 3, …) of F and its derivative (3, 3, 3, 3, …), in Pa."""

    stress: Callable[[Array], Array]
    elasticity: Callable[[Array], Array]


def law_of(model: str, young: float, poisson: float) -> Law:
    """Return the law of one of ``supple.core.materials.MODELS``, by its name.

    Raises:
        LookupError: when a model has been added there and not here.
    """
    if model not in _LAWS:
        raise LookupError(f"verification/laws.py has no law for the material {model!r}; add it.")
    mu = young / (2.0 * (1.0 + poisson))
    lam = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    return _LAWS[model](mu, lam)


def stable_neo_hookean(mu: float, lam: float) -> Law:
    """With α as Smith, de Goes and Kim write it."""
    shear, bulk = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
    alpha = 1.0 + 0.75 * shear / bulk
    return _in_invariants(
        lambda i, j: shear * (1.0 - 1.0 / (i + 1.0)),
        lambda i, j: bulk * (j - alpha),
        lambda i, j: 2.0 * shear / (i + 1.0) ** 2,
        lambda i, j: bulk + 0.0 * j,
    )


def neo_hookean(mu: float, lam: float) -> Law:
    return _in_invariants(
        lambda i, j: mu + 0.0 * i,
        lambda i, j: lam * (j - 1.0) - mu / j,
        lambda i, j: 0.0 * i,
        lambda i, j: lam + mu / j**2,
    )


def _in_invariants(along_f: Array, along_cofactor: Array, d2_i: Array, d2_j: Array) -> Law:
    """From 2 Ψ_I, Ψ_J, 4 Ψ_II and Ψ_JJ; in index notation, without a singular value anywhere."""

    def invariants(f: Array) -> tuple[Array, Array, Array]:
        cofactor = 0.5 * np.einsum("iab,jcd,ac...,bd...->ij...", PERMUTATION, PERMUTATION, f, f)
        return np.einsum("ij...,ij...", f, f), np.linalg.det(f.T).T, cofactor

    def stress(f: Array) -> Array:
        i, j, cofactor = invariants(f)
        return along_f(i, j) * f + along_cofactor(i, j) * cofactor

    def elasticity(f: Array) -> Array:
        i, j, cofactor = invariants(f)
        identity = _spread(np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY), f)
        turned = np.einsum("ika,jlb,ab...->ijkl...", PERMUTATION, PERMUTATION, f)
        return (
            along_f(i, j) * identity
            + d2_i(i, j) * np.einsum("ij...,kl...->ijkl...", f, f)
            + d2_j(i, j) * np.einsum("ij...,kl...->ijkl...", cofactor, cofactor)
            + along_cofactor(i, j) * turned
        )

    return Law(stress, elasticity)


def st_venant_kirchhoff(mu: float, lam: float) -> Law:
    def second_piola(f: Array) -> Array:
        identity = _spread(IDENTITY, f)
        strain = 0.5 * (np.einsum("ki...,kj...->ij...", f, f) - identity)
        return 2.0 * mu * strain + lam * np.einsum("kk...->...", strain) * identity

    def stress(f: Array) -> Array:
        return np.einsum("ik...,kj...->ij...", f, second_piola(f))

    def elasticity(f: Array) -> Array:
        left = np.einsum("ia...,ka...->ik...", f, f)
        return (
            np.einsum("ik,lj...->ijkl...", IDENTITY, second_piola(f))
            + lam * np.einsum("ij...,kl...->ijkl...", f, f)
            + mu * np.einsum("il...,kj...->ijkl...", f, f)
            + mu * np.einsum("ik...,jl->ijkl...", left, IDENTITY)
        )

    return Law(stress, elasticity)


def linear(mu: float, lam: float) -> Law:
    tensor = (
        lam * np.einsum("ij,kl->ijkl", IDENTITY, IDENTITY)
        + mu * np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY)
        + mu * np.einsum("il,jk->ijkl", IDENTITY, IDENTITY)
    )

    def stress(f: Array) -> Array:
        return np.einsum("ijkl,kl...->ij...", tensor, f - _spread(IDENTITY, f))

    def elasticity(f: Array) -> Array:
        return _spread(tensor, f) * np.ones_like(f[0, 0])

    return Law(stress, elasticity)


def corotated_linear(mu: float, lam: float) -> Law:
    """P = 2μ (F − R) + λ tr(RᵀF − I) R.

    R changes by R [w]× where F = R S changes by δF, w = (tr S − S)⁻¹ 2 axial(skew RᵀδF).
    """

    def stress(f: Array) -> Array:
        r = _rotations(f)
        return 2.0 * mu * (f - r) + lam * _excess(r, f) * r

    def elasticity(f: Array) -> Array:
        r = _rotations(f)
        s = np.einsum("ki...,kj...->ij...", r, f)
        resistance = _spread(IDENTITY, f) * np.einsum("kk...->...", s) - s
        compliance = np.moveaxis(np.linalg.inv(np.moveaxis(resistance, (0, 1), (-2, -1))), -2, 0)
        compliance = np.moveaxis(compliance, -1, 1)
        # axial: 2 w_a = ε_aji (RᵀδF)_ij, and [w]×_ij = ε_iaj w_a.
        turn = np.einsum("ab...,bnm,km...->akn...", compliance, PERMUTATION, r)
        turned = np.einsum("ip...,paj,akl...->ijkl...", r, PERMUTATION, turn)
        identity = _spread(np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY), f)
        return (
            2.0 * mu * (identity - turned)
            + lam * np.einsum("ij...,kl...->ijkl...", r, r)
            + lam * _excess(r, f) * turned
        )

    return Law(stress, elasticity)


def as_rigid_as_possible(mu: float, lam: float) -> Law:
    return corotated_linear(mu, 0.0)


def _rotations(f: Array) -> Array:
    """The nearest rotation of each gradient, none of them inverted."""
    each = np.moveaxis(f, (0, 1), (-2, -1))
    turned = np.stack([polar(one)[0] for one in each.reshape(-1, 3, 3)])
    return np.moveaxis(turned.reshape(each.shape), (-2, -1), (0, 1))


def _excess(r: Array, f: Array) -> Array:
    return np.einsum("ij...,ij...->...", r, f) - 3.0


def _spread(tensor: Array, f: Array) -> Array:
    """With as many axes of length one as f has beyond its two."""
    return tensor.reshape(tensor.shape + (1,) * (f.ndim - 2))


_LAWS: dict[str, Callable[[float, float], Law]] = {
    "stable_neo_hookean": stable_neo_hookean,
    "neo_hookean": neo_hookean,
    "corotated_linear": corotated_linear,
    "st_venant_kirchhoff": st_venant_kirchhoff,
    "as_rigid_as_possible": as_rigid_as_possible,
    "linear": linear,
}
