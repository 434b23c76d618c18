# SPDX-License-Identifier: GPL-3.0-or-later
"""Static cantilevers on one mesh, by this code and by felupe, an independent one."""

from __future__ import annotations

import felupe
import numpy as np
import pytest

from supple.core import Scene, Simulator, SoftBody
from supple.core.materials import (
    Linear,
    Material,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)

DENSITY, GRAVITY = 1000.0, 9.81
IDENTITY = np.eye(3)
PERMUTATION = np.zeros((3, 3, 3))
PERMUTATION[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1.0
PERMUTATION[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = -1.0


def _stable(mu, lam):
    """With α as Smith, de Goes and Kim write it."""
    shear, bulk = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
    alpha = 1.0 + 0.75 * shear / bulk
    return _in_invariants(
        lambda i, j: shear * (1.0 - 1.0 / (i + 1.0)),
        lambda i, j: bulk * (j - alpha),
        lambda i, j: 2.0 * shear / (i + 1.0) ** 2,
        lambda i, j: bulk + 0.0 * j,
    )


def _neo_hookean(mu, lam):
    return _in_invariants(
        lambda i, j: mu + 0.0 * i,
        lambda i, j: lam * (j - 1.0) - mu / j,
        lambda i, j: 0.0 * i,
        lambda i, j: lam + mu / j**2,
    )


def _in_invariants(along_f, along_cofactor, by_i, by_j):
    """From 2 Ψ_I, Ψ_J, 4 Ψ_II and Ψ_JJ; in index notation, without a singular value anywhere."""

    def invariants(f):
        cofactor = 0.5 * np.einsum("iab,jcd,ac...,bd...->ij...", PERMUTATION, PERMUTATION, f, f)
        return np.einsum("ij...,ij...", f, f), np.linalg.det(f.T).T, cofactor

    def stress(f):
        i, j, cofactor = invariants(f)
        return along_f(i, j) * f + along_cofactor(i, j) * cofactor

    def elasticity(f):
        i, j, cofactor = invariants(f)
        identity = np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY)[..., None, None]
        turned = np.einsum("ika,jlb,ab...->ijkl...", PERMUTATION, PERMUTATION, f)
        return (
            along_f(i, j) * identity
            + by_i(i, j) * np.einsum("ij...,kl...->ijkl...", f, f)
            + by_j(i, j) * np.einsum("ij...,kl...->ijkl...", cofactor, cofactor)
            + along_cofactor(i, j) * turned
        )

    return stress, elasticity


def _st_venant_kirchhoff(mu, lam):
    identity = IDENTITY[..., None, None]

    def second_piola(f):
        strain = 0.5 * (np.einsum("ki...,kj...->ij...", f, f) - identity)
        return 2.0 * mu * strain + lam * np.einsum("kk...->...", strain) * identity

    def stress(f):
        return np.einsum("ik...,kj...->ij...", f, second_piola(f))

    def elasticity(f):
        left = np.einsum("ia...,ka...->ik...", f, f)
        return (
            np.einsum("ik,lj...->ijkl...", IDENTITY, second_piola(f))
            + lam * np.einsum("ij...,kl...->ijkl...", f, f)
            + mu * np.einsum("il...,kj...->ijkl...", f, f)
            + mu * np.einsum("ik...,jl->ijkl...", left, IDENTITY)
        )

    return stress, elasticity


def _linear(mu, lam):
    tensor = (
        lam * np.einsum("ij,kl->ijkl", IDENTITY, IDENTITY)
        + mu * np.einsum("ik,jl->ijkl", IDENTITY, IDENTITY)
        + mu * np.einsum("il,jk->ijkl", IDENTITY, IDENTITY)
    )

    def stress(f):
        return np.einsum("ijkl,kl...->ij...", tensor, f - IDENTITY[..., None, None])

    def elasticity(f):
        return tensor[..., None, None] * np.ones_like(f[0, 0])

    return stress, elasticity


def _felupe_positions(mesh, pinned, law) -> np.ndarray:
    region = felupe.RegionTetra(felupe.Mesh(mesh.vertices, mesh.tets, "tetra"))
    field = felupe.FieldContainer([felupe.Field(region, dim=3)])
    held = np.zeros(len(mesh.vertices), dtype=bool)
    held[pinned] = True
    bounds = {"held": felupe.Boundary(field[0], mask=held)}
    dof0, dof1 = felupe.dof.partition(field, bounds)
    stress, elasticity = law
    material = felupe.Material(
        lambda x, **_: [stress(x[0]), x[-1]], lambda x, **_: [elasticity(x[0])]
    )
    solid = felupe.SolidBody(material, field)
    for share in (0.25, 0.5, 0.75, 1.0):  # its Newton has no line search
        weight = felupe.SolidBodyForce(field, [0.0, 0.0, -share * DENSITY * GRAVITY])
        felupe.newtonraphson(
            items=[solid, weight],
            dof0=dof0,
            dof1=dof1,
            ext0=felupe.dof.apply(field, bounds, dof0),
            tol=1e-11,
            verbose=0,
        )
    return mesh.vertices + field[0].values


@pytest.mark.parametrize("poisson", [0.3, 0.45])
@pytest.mark.parametrize(
    ("model", "law"),
    [
        (StableNeoHookean, _stable),
        (NeoHookean, _neo_hookean),
        (StVenantKirchhoff, _st_venant_kirchhoff),
        (Linear, _linear),
    ],
)
def test_a_cantilever_bends_as_it_does_in_an_independent_code(
    make_block, model: type[Material], law, poisson: float
) -> None:
    mesh = make_block((8, 2, 2), (0.8, 0.2, 0.2))
    clamped = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    material = model(2e5, poisson)
    body = SoftBody(mesh, material, DENSITY, pinned=clamped)
    rest = Simulator(Scene([body], gravity=(0.0, 0.0, -GRAVITY))).settle()
    expected = _felupe_positions(mesh, clamped, law(material.mu, material.lam))
    deflection = float(np.abs(expected - mesh.vertices).max())
    assert deflection > 0.2  # far from small strain
    np.testing.assert_allclose(rest.positions[0].numpy(), expected, atol=1e-6 * deflection)


def test_the_linear_cantilever_sinks_as_in_another_independent_code(make_block) -> None:
    # On this mesh, of its tip on average, in metres.
    mesh = make_block((8, 2, 2), (0.8, 0.2, 0.2))
    clamped = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    body = SoftBody(mesh, Linear(2e5, 0.3), DENSITY, pinned=clamped)
    rest = Simulator(Scene([body], gravity=(0.0, 0.0, -GRAVITY))).settle()
    tip = mesh.vertices[:, 0] == 0.8
    sunk = (mesh.vertices - rest.positions[0].numpy())[tip, 2]
    assert sunk.mean() == pytest.approx(0.412614559, rel=1e-6)
