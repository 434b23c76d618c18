# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import NeoHookean, StableNeoHookean
from supple.core.potentials import Elasticity
from supple.core.potentials.elasticity import MARGIN_RATIO, inversion_bound


def _tets(count: int, seed: int) -> torch.Tensor:
    """(3, 3, M) edges of tets of positive volume."""
    random = torch.Generator().manual_seed(seed)
    edges = torch.randn(3, 3, count, generator=random, dtype=torch.float64)
    edges[0] *= _volumes(edges).sign()
    return edges


def _volumes(edges: torch.Tensor) -> torch.Tensor:
    """Six times those of (3, 3, …) tets."""
    return (edges[0] * torch.linalg.cross(edges[1], edges[2], dim=0)).sum(0)


def _diagonal(*values: float) -> torch.Tensor:
    return torch.diag(torch.tensor(values, dtype=torch.float64))


def test_it_is_the_margin_of_the_way_to_the_first_flat_tet() -> None:
    count = 300
    edges, changes = _tets(count, 31), 1.5 * _tets(count, 32)
    changes[:, :, ::2] -= edges[:, :, ::2]
    each = [inversion_bound(*_one(edges, changes, tet)) for tet in range(count)]
    bounds = torch.tensor(each, dtype=torch.float64)
    ways = torch.linspace(0.0, 1.0, 1001, dtype=torch.float64)[:, None] * bounds
    flat = bounds < 1.0
    assert 50 < int(flat.sum()) < 250
    # To the bound, all is well; a little further, at its end without margin, a tet is flat.
    assert (_volumes(edges[:, :, None] + changes[:, :, None] * ways) > 0.0).all()
    ends = (edges + changes * bounds / MARGIN_RATIO)[..., flat]
    assert float((_volumes(ends) / _volumes(edges)[flat]).abs().max()) < 1e-6


def _one(edges: torch.Tensor, changes: torch.Tensor, tet: int) -> tuple[torch.Tensor, torch.Tensor]:
    return edges[..., tet, None], changes[..., tet, None]


def test_of_many_tets_the_first_one_counts() -> None:
    edges, changes = _tets(200, 33), 0.3 * _tets(200, 34)
    each = [inversion_bound(*_one(edges, changes, tet)) for tet in range(200)]
    assert 0.0 < min(each) < 1.0
    assert inversion_bound(edges, changes) == pytest.approx(min(each), rel=1e-6)


def test_steps_that_flatten_nothing_are_taken_whole() -> None:
    edges = _tets(200, 35)
    turned = torch.stack([-edges[1], edges[0], edges[2]])
    for change in (0.0 * edges, 3.0 * edges, -0.999 * edges, turned - edges):
        assert inversion_bound(edges, change) == 1.0


# Powers of two, which add no rounding.
@pytest.mark.parametrize("scale", [2.0**-14, 1.0, 1024.0])
@pytest.mark.parametrize(
    ("name", "change", "flat"),
    [
        ("single root", _diagonal(-2.0, 0.0, 0.0), 0.5),
        ("double root", _diagonal(-2.0, -2.0, 0.0), 0.5),
        ("triple root", _diagonal(-2.0, -2.0, -2.0), 0.5),
        ("double root at the end", _diagonal(-1.0, -1.0, 0.0), 1.0),
        ("double root, then a single one", _diagonal(-4.0, -4.0, -2.0), 0.25),
        ("single root, then a double one", _diagonal(-4.0, -2.0, -2.0), 0.25),
        ("exactly flat end", _diagonal(-1.0, 0.0, 0.0), 1.0),
        ("early", _diagonal(-1024.0, 0.0, 0.0), 1.0 / 1024.0),
    ],
)
def test_roots_of_every_kind_are_found(
    name: str, change: torch.Tensor, flat: float, scale: float
) -> None:
    edges = scale * torch.eye(3, dtype=torch.float64)[..., None]
    bound = inversion_bound(edges, scale * change[..., None])
    # A triple root is known to the cube root of rounding.
    assert bound == pytest.approx(MARGIN_RATIO * flat, rel=1e-5)


def test_a_turned_double_root_leaves_the_volume_positive_where_the_step_ends() -> None:
    for seed in range(50):
        random = torch.Generator().manual_seed(seed)
        turn, _ = torch.linalg.qr(torch.randn(3, 3, generator=random, dtype=torch.float64))
        edges = torch.einsum("ab,bem->aem", turn, _tets(1, seed))
        if float(_volumes(edges[..., 0])) < 0.0:
            edges = -edges
        shrink = turn @ _diagonal(-2.0, -2.0, 0.0) @ turn.T
        change = torch.einsum("ab,bem->aem", shrink, edges)
        bound = inversion_bound(edges, change)
        assert bound == pytest.approx(MARGIN_RATIO * 0.5, rel=1e-5) or bound == 1.0
        assert float(_volumes(edges + bound * change)) > 0.0


def test_only_a_law_that_ends_at_no_volume_bounds_the_step(make_block) -> None:
    mesh = make_block((1, 1, 1))
    rest = torch.as_tensor(np.ascontiguousarray(mesh.vertices.T))
    mirrored = -2.0 * rest * torch.tensor([[1.0], [0.0], [0.0]], dtype=torch.float64)
    bounds = []
    for material in (NeoHookean(1e4, 0.3), StableNeoHookean(1e4, 0.3)):
        potential = Elasticity(material, [(0, mesh)], rest[0])
        bounds.append(potential.without_extrapolation().max_step(rest, mirrored))
    assert bounds == [pytest.approx(MARGIN_RATIO * 0.5, rel=1e-6), 1.0]


@pytest.mark.parametrize("speed", [5.0, 40.0])
def test_a_hard_fall_turns_no_tet_inside_out(make_block, speed: float) -> None:
    body = SoftBody(
        make_block(origin=(0.0, 0.0, 0.3)), NeoHookean(2e4, 0.4), velocity=(0.0, 0.0, -speed)
    )
    frames = list(Simulator(Scene([body], ground=Ground()), ImplicitEuler()).run(16))
    assert min(frame.report.minimum_volume_ratio for frame in frames) > 0.0
    assert all(frame.report.minimum_ground_distance > 0.0 for frame in frames)
    assert all(frame.report.solver_statistics.converged for frame in frames)
    # It was a hard one.
    assert min(frame.report.minimum_volume_ratio for frame in frames) < 0.7
