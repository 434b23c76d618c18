# SPDX-License-Identifier: GPL-3.0-or-later
"""Buoyancy and drag in a fluid at rest, of the part of each tet that is submerged.

The depths d at the corners are interpolated linearly. The mean of max(0, d) over the tet has as
first derivatives the means of the shape functions over the submerged part, and as second
derivatives those of their products over the cut. The submerged part is a cap at the deepest
corner, a wedge on the two deepest corners, all but a cap at the highest corner, or the whole tet.
Every sum is of terms of one sign, so that nothing cancels wherever the plane is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..geometry.groups import grouped
from ..geometry.tet_mesh import TetMesh
from ..math3.torch_matrices import segment_sums
from ..scene.forces import Fluid
from .body_forces import Gravity
from .potential import Potential, PrescribedPotential, TimeStep


def mean_depth(depths: Tensor) -> Tensor:
    """(M,) mean of max(0, d), in metres, of (4, M) depths of corners."""
    d, _ = depths.sort(dim=0, descending=True)
    cap, top = _cap(d).sum(0) * d[0], _cap(-d.flip(0)).sum(0) * -d[3]
    a, b, p, q = _wedge_shares(d)
    wedge = a * b * (d[0] + d[1]) + (a * q * (1.0 - b) + p * q * (1.0 - a)) * d[1]
    mean = d.mean(0)
    return _chosen(d, cap / 4.0, wedge / 4.0, mean + top / 4.0, mean)


def submerged_shares(depths: Tensor) -> Tensor:
    """(4, M) shares of a tet's volume that are below the plane and belong to its corners."""
    d, order = depths.sort(dim=0, descending=True)
    three = 0.25 - _cap(-d.flip(0)).flip(0)
    shares = _chosen(d, _cap(d), _wedge(d), three, torch.full_like(d, 0.25))
    return torch.zeros_like(shares).scatter(0, order, shares)


def cut_products(depths: Tensor) -> Tensor:
    """(4, 4, M) second derivatives of the mean depth by the depths of corners, in 1/m."""
    d, order = depths.sort(dim=0, descending=True)
    three, none = _cap_cut(-d.flip(0)).flip(0, 1), d.new_zeros(4, *d.shape)
    products = _chosen(d, _cap_cut(d), _wedge_cut(d), three, none)
    rows = none.scatter(0, order[:, None].expand_as(none), products)
    return none.scatter(1, order[None].expand_as(none), rows)


def _chosen(d: Tensor, one: Tensor, two: Tensor, three: Tensor, four: Tensor) -> Tensor:
    """Return the value for the number of submerged corners, the descending depths above zero."""
    chosen = torch.where(d[0] > 0.0, one, torch.zeros_like(one))
    for depth, value in ((d[1], two), (d[2], three), (d[3], four)):
        chosen = torch.where(depth > 0.0, value, chosen)
    return chosen


def _cap(d: Tensor) -> Tensor:
    """Return (4, M) shares of the submerged part where the first corner alone is below."""
    s = d[0] / (d[0] - d[1:])
    return torch.cat([(4.0 - s.sum(0))[None], s]) * (s.prod(0) / 4.0)


def _cap_cut(d: Tensor) -> Tensor:
    """Return (4, 4, M) products of the cut where the first corner alone is below."""
    s = d[0] / (d[0] - d[1:])
    cuts = [_cut(0, j, s[j - 1]) for j in (1, 2, 3)]
    return _section(cuts, 3.0 * s[0] * s[1] / (d[0] - d[3]))


def _wedge_shares(d: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the fractions at which the plane cuts the edges from the first two corners up to
    the others."""
    a, b = d[0] / (d[0] - d[2:])
    p, q = d[1] / (d[1] - d[2:])
    return a, b, p, q


def _wedge(d: Tensor) -> Tensor:
    """Return (4, M) shares of the submerged part where the first two corners are below."""
    a, b, p, q = _wedge_shares(d)
    # Three tets make it up, whose volumes are determinants of the shape functions of their
    # corners: of the first two of all and two cuts, and twice of the second and three cuts.
    one, two, three = a * b, a * q * (1.0 - b), p * q * (1.0 - a)
    corners = [
        one * (3.0 - a - b) + two * (2.0 - a - b) + three * (1.0 - a),
        one + two * (2.0 - q) + three * (3.0 - p - q),
        one * a + two * a + three * (a + p),
        one * b + two * (b + q) + three * q,
    ]
    return torch.stack(corners) / 4.0


def _wedge_cut(d: Tensor) -> Tensor:
    """Return (4, 4, M) products of the cut, two triangles, where the first two corners are
    below."""
    a, b, p, q = _wedge_shares(d)
    c02, c03, c12, c13 = _cut(0, 2, a), _cut(0, 3, b), _cut(1, 2, p), _cut(1, 3, q)
    width = (d[0] - d[2]) / 3.0
    one = _section([c02, c03, c13], (1.0 - q) * b / width)
    return one + _section([c02, c12, c13], (1.0 - p) * q / width)


def _cut(below: int, above: int, share: Tensor) -> Tensor:
    """(4, M) shape functions where the plane cuts an edge, a ``share`` of the way up."""
    values = [torch.zeros_like(share)] * 4
    values[below], values[above] = 1.0 - share, share
    return torch.stack(values)


def _section(corners: list[Tensor], weight: Tensor) -> Tensor:
    """(4, 4, M) means of products of shape functions over a triangle, times its weight."""
    total = sum(corners, start=torch.zeros_like(corners[0]))
    products = total[:, None] * total[None]
    for corner in corners:
        products = products + corner[:, None] * corner[None]
    return weight / 12.0 * products


class SubmergedTets:
    """The submerged parts of tets, measured by their volumes at rest.

    Args:
        meshes: of the bodies, one after the other.
        level: z in metres.
        template: a tensor on the device and of the precision to work in.
    """

    def __init__(self, meshes: Sequence[TetMesh], level: float, template: Tensor) -> None:
        starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
        tets = np.concatenate(
            [mesh.tets + start for mesh, start in zip(meshes, starts, strict=False)]
        )
        tets = np.ascontiguousarray(tets.T.astype(np.int32))
        self._level, self._count = level, tets.shape[1]
        device, corners = template.device, tets.ravel().astype(np.int64)
        self._corners = torch.as_tensor(corners, device=device)
        volumes = np.concatenate([mesh.material_volumes for mesh in meshes])
        self._volumes = torch.as_tensor(volumes).to(template)
        order, offsets = grouped(corners, starts[-1])
        self._order = torch.as_tensor(order, device=device)
        self._offsets = torch.as_tensor(offsets, device=device)
        # Kept for the last pattern.
        self._element_map = lru_cache(maxsize=1)(lambda pattern: pattern.locate(tets))
        #: (N,) of the vertices at rest, in m³: a quarter of each tet's around.
        self.vertex_volumes = self._sums((self._volumes / 4.0).expand(4, -1))

    def depth_integral(self, positions: Tensor) -> Tensor:
        """Return the integral of the depth over the submerged part, in m⁴."""
        return (self._volumes * mean_depth(self._depths(positions))).sum()

    def submerged_volumes(self, positions: Tensor) -> Tensor:
        """Return the (N,) submerged volume of each vertex, in m³."""
        if positions.requires_grad:
            apply: Callable[[Tensor, SubmergedTets], Tensor] = _Submerged.apply
            return apply(positions, self)
        return self._sums(self._volumes * submerged_shares(self._depths(positions)))

    def submerged_change(self, positions: Tensor, way: Tensor) -> Tensor:
        """Return the (N,) change of each submerged volume along (N,) z, in m³."""
        products = self._volumes * cut_products(self._depths(positions))
        along = way[self._corners].view(4, -1)
        return -self._sums((products * along).sum(1))

    def add_second_derivative(self, positions: Tensor, factor: Tensor, matrix: BlockMatrix) -> None:
        """Adds that of the depth integral, times a factor; positive semi-definite."""
        products = self._volumes * factor * cut_products(self._depths(positions))
        blocks = positions.new_zeros(self._count, len(CORNER_PAIRS), 9)
        for index, (a, b) in enumerate(CORNER_PAIRS):
            blocks[:, index, 8] = products[a, b]
        matrix.add_elements(self._element_map(matrix.pattern), blocks)

    def _depths(self, positions: Tensor) -> Tensor:
        """Return the (4, M) depths of the corners, in metres."""
        return (self._level - positions[2])[self._corners].view(4, -1)

    def _sums(self, values: Tensor) -> Tensor:
        """Return the (N,) sums of (4, M) values of corners."""
        return segment_sums(values.reshape(-1)[self._order], self._offsets)


class _Submerged(torch.autograd.Function):
    """``submerged_volumes`` on autograd's tape."""

    @staticmethod
    def forward(ctx: Any, positions: Tensor, tets: SubmergedTets) -> Tensor:
        ctx.save_for_backward(positions)
        ctx.tets = tets
        return tets.submerged_volumes(positions.detach())

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        (positions,) = ctx.saved_tensors
        # The volumes are derivatives of one number, so that theirs are symmetric.
        along = ctx.tets.submerged_change(positions.detach(), upstream)
        return torch.stack([torch.zeros_like(along), torch.zeros_like(along), along]), None


class Buoyancy(PrescribedPotential):
    """The energy ρ g ∫ (level − z) dV over the volume below the level: the weight of the fluid that
    a body displaces, raised to the surface (Archimedes).

    It is convex, since tets keep their volumes at rest in it, and so its second derivative needs no
    projection.

    Args:
        tets: of the bodies.
        channel: ρ g, () in N/m³.
    """

    def __init__(self, tets: SubmergedTets, channel: TensorChannel) -> None:
        super().__init__(channel)
        #: The tets of the bodies.
        self.tets = tets

    @classmethod
    def of(cls, tets: SubmergedTets, density: float, gravity: Gravity) -> Buoyancy:
        """In gravity along −z; other components have no level."""
        down = -gravity.channel.samples[:, 2]
        return cls(tets, gravity.channel.with_samples(density * down.clamp(min=0.0)))

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> Buoyancy:
        return self._taped(quantities, index, frame, fraction)

    @property
    def stiffest(self) -> Tensor:
        return self.channel.samples.max()

    def energy(self, positions: Tensor) -> Tensor:
        return self.parameters * self.tets.depth_integral(positions)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out[2] -= self.parameters * self.tets.submerged_volumes(positions)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        self.tets.add_second_derivative(positions, self.parameters, matrix)


# The mean area that a convex body shows, over its surface (Cauchy, 1841).
SHOWN_AREA_RATIO = 0.25


class FluidDrag(Potential):
    """The force −w (a v + b |v| v) on a vertex, w the share of it that is submerged.

    With b = ½ ρ c A / 4, A the vertex's part of the surface, a rigid convex body that moves
    straight has the drag ½ ρ c A v² of the area that it shows in the mean.

    Over a step of τ seconds it is the gradient of Σ w τ (½ a |v|² + ⅓ b |v|³) with v = (x − x̂) / τ
    and w as the step begins: convex, so that no drag turns a velocity round.

    Args:
        tets: of the bodies.
        damping: a over the mass of a vertex, in 1/s.
        mass: (N,) in kg.
        quadratic: (N,) b in kg/m.
    """

    is_dissipative = True

    def __init__(
        self, tets: SubmergedTets, damping: float, mass: Tensor, quadratic: Tensor
    ) -> None:
        self._tets, self._damping = tets, damping
        # (N,) a and b.
        self._linear, self._quadratic = damping * mass, quadratic
        self._seconds, self._origin = 1.0, mass.new_zeros(3, len(mass))
        self._wet = torch.zeros_like(mass)

    @classmethod
    def of(
        cls, tets: SubmergedTets, fluid: Fluid, meshes: Sequence[TetMesh], mass: Tensor
    ) -> FluidDrag:
        """On (N,) masses in kg of the vertices of all meshes."""
        areas = SHOWN_AREA_RATIO * np.concatenate([mesh.surface_areas for mesh in meshes])
        quadratic = torch.as_tensor(0.5 * fluid.density * fluid.drag * areas).to(mass)
        return cls(tets, fluid.damping, mass, quadratic)

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> FluidDrag:
        return FluidDrag(self._tets, self._damping, quantities["mass"], self._quadratic)

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        speed = torch.linalg.vector_norm(velocities, dim=0)
        wet = self._submerged(positions)
        out += wet * (self._linear + self._quadratic * speed) * velocities

    def begin_time_step(self, step: TimeStep) -> None:
        self._seconds, self._origin = step.seconds, step.coasting_origin
        self._wet = self._submerged(step.start)
        if step.is_static:
            # A static solve has no velocities and no resistance.
            self._wet = torch.zeros_like(self._wet)

    def energy(self, positions: Tensor) -> Tensor:
        speed = torch.linalg.vector_norm(self._velocities(positions), dim=0)
        density = (0.5 * self._linear + self._quadratic * speed / 3.0) * speed.square()
        return self._seconds * (self._wet * density).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        velocities = self._velocities(positions)
        speed = torch.linalg.vector_norm(velocities, dim=0)
        out += self._wet * (self._linear + self._quadratic * speed) * velocities

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        vertices = matrix.pattern.vertices
        velocities = self._velocities(positions)[:, vertices]
        wet, linear, quadratic = (
            values[vertices] for values in (self._wet, self._linear, self._quadratic)
        )
        speed = torch.linalg.vector_norm(velocities, dim=0)
        directions = velocities / speed.clamp(min=torch.finfo(speed.dtype).tiny)
        turned = (wet * quadratic * speed / self._seconds) * directions[:, None] * directions[None]
        matrix.add_diagonal(wet * (linear + quadratic * speed) / self._seconds)
        matrix.add_diagonal_blocks(vertices, turned.reshape(9, -1).T)

    def _velocities(self, positions: Tensor) -> Tensor:
        return (positions - self._origin) / self._seconds

    def _submerged(self, positions: Tensor) -> Tensor:
        return self._tets.submerged_volumes(positions) / self._tets.vertex_volumes
