# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a frame: stress, stretch, speed, plastic strain and contact pressure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np
import torch
from torch import Tensor

from ..materials import Linear, Material
from ..math3.torch_matrices import det3, less_mean, matmul3, trace3
from ..potentials import Elasticity
from ..state import State
from ..system import System, fill
from .table import RESULTS, in_order


def plastic_strain(system: System, _: IsImplicit) -> Field:
    """The equivalent plastic strain α of each tet: α̇ = √(2/3 D_p : D_p), D_p the rate at which it
    flows, added up from the start; zero of bodies without plasticity.

    A bar that is pulled or pressed once has the logarithmic strain that it keeps. It keeps growing
    while a body is kneaded to and fro.

    Source: Simo and Hughes, "Computational Inelasticity", section 2.3.
    """
    flow = system.plastic_flow

    def field(state: State) -> list[Tensor]:
        return split_by_tets(system, lambda part: flow.strains_of(part, state.plastic))

    return field


def speed(system: System, _: IsImplicit) -> Field:
    """|v| of each vertex in m/s."""

    def field(state: State) -> list[Tensor]:
        return split_by_body(system, torch.linalg.vector_norm(state.velocities, dim=0))

    return field


def largest_stretch(system: System, _: IsImplicit) -> Field:
    """The largest singular value of F of each tet: 1 at rest, 2 where it is twice as long."""

    def stretches(part: Elasticity, positions: Tensor) -> Tensor:
        gradients = part.tets.deformation_gradients(positions)
        return largest_eigenvalue(matmul3(gradients.transpose(0, 1), gradients)).sqrt()

    def field(state: State) -> list[Tensor]:
        return split_by_tets(system, lambda part: stretches(part, state.positions))

    return field


def largest_eigenvalue(matrices: Tensor) -> Tensor:
    """Return the (M,) largest eigenvalues of (3, 3, M) symmetric positive semi-definite matrices.

    Source: Smith, "Eigenvalues of a symmetric 3 × 3 matrix", Communications of the ACM 4(4), 1961.
    """
    deviator = less_mean(matrices)
    radius = (deviator.square().sum((0, 1)) / 6.0).sqrt()
    # If all three are equal, the angle is undefined and not needed.
    scaled = deviator / radius.clamp(min=torch.finfo(radius.dtype).tiny ** 0.25)
    angle = (0.5 * det3(scaled)).clamp(-1.0, 1.0).acos() / 3.0
    return trace3(matrices) / 3.0 + 2.0 * radius * angle.cos()


# The least height of tets for stresses: the stress on a vanishing area is unbounded.
MIN_VOLUME_RATIO = 1e-2


def von_mises(system: System, _: IsImplicit) -> Field:
    """√(3/2 s : s) of each tet in Pa, s = σ − tr(σ)/3 I the deviator of the Cauchy stress.

    The stress is the elastic one, of the material itself: a tet that is filled in part carries it
    in that part.

    Source: Bonet and Wood, "Nonlinear Continuum Mechanics for Finite Element Analysis", 2nd
    edition, section 5.5.
    """

    def stresses(part: Elasticity, state: State) -> Tensor:
        stress = cauchy_stress(_solid(part), part.tets.deformation_gradients(state.positions))
        stiffness = part.scale(part.at(state.frame, 0.0))
        return stiffness * (1.5 * less_mean(stress).square().sum((0, 1))).sqrt()

    def field(state: State) -> list[Tensor]:
        return split_by_tets(system, lambda part: stresses(part, state))

    return field


def cauchy_stress(material: Material, gradients: Tensor) -> Tensor:
    """(3, 3, M) σ = P Fᵀ / J in Pa of (3, 3, M) deformation gradients; the linear model, whose
    only shape is the one at rest, has σ = P."""
    stress = material.first_piola(gradients.permute(2, 0, 1)).permute(1, 2, 0)
    if isinstance(material, Linear):
        return stress.contiguous()
    ratios = det3(gradients)
    # Inverted tets have the strain of their mirror image.
    sizes = ratios.abs().clamp(min=MIN_VOLUME_RATIO).copysign(ratios)
    return matmul3(stress, gradients.transpose(0, 1)) / sizes


def _solid(part: Elasticity) -> Material:
    """The material of a part as if all of its tets were full."""
    filled = np.concatenate([fill(mesh) for _, mesh in part.tets.meshes])
    if (filled == 1.0).all():
        return part.material
    share = torch.as_tensor(filled).to(part.tets.volumes)
    return replace(part.material, young=part.material.young / share)


#: From a state to the values of each body.
Field = Callable[["State"], list[Tensor]]
#: Whether implicit steps or a static solve produced the state.
IsImplicit = Callable[[], bool]


def fields_of(system: System, is_implicit: IsImplicit, names: Sequence[str]) -> dict[str, Field]:
    """Return the functions that compute the named results from the states of a system.

    Raises:
        SceneError: when there is no such result, or it cannot be had of this system.
    """
    return {name: _function(name)(system, is_implicit) for name in in_order(names)}


def split_by_body(system: System, values: Tensor) -> list[Tensor]:
    """Split (N,) values of all vertices into one tensor a body."""
    return [values[where].contiguous() for where in system.body_slices()]


def split_by_tets(system: System, values: Callable[[Elasticity], Tensor]) -> list[Tensor]:
    """Return one (M,) tensor a body, from the ``values`` on the tets of each elasticity."""
    tet_fields: dict[int, Tensor] = {}
    for part in system.elasticities:
        start, tet_values = 0, values(part)
        for first, mesh in part.tets.meshes:
            tet_fields[first] = tet_values[start : start + len(mesh.tets)]
            start += len(mesh.tets)
    return [tet_fields[first].contiguous() for first in system.vertex_offsets[:-1]]


def _function(name: str) -> Callable[[System, IsImplicit], Field]:
    module, function = RESULTS[name].where.split(".")
    return getattr(import_module(f".{module}", __package__), function)
