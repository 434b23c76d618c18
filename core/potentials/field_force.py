# SPDX-License-Identifier: GPL-3.0-or-later
"""The force of a field on bodies, and the samples where it varies within tets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..compiled import use_threads
from ..geometry.groups import grouped
from ..geometry.tet_mesh import TetMesh
from ..geometry.winding_number import winding_number
from ..kernels.field_response import write_means, write_sample_points
from ..math3.symmetric_functions import positive_part
from ..meshing.cells import points_in_tets
from ..scene.channel import Channel
from ..scene.contact_settings import ContactSurface
from ..scene.forces import ForceField
from .field_laws import VERTICES_PER_THREAD, Law, Response, takes_loops
from .nodes import Nodes
from .potential import PrescribedPotential, TimeStep


class FieldForce(PrescribedPotential):
    """Forces m a(x, v), a the acceleration of a law.

    An implicit step of τ seconds linearizes the law at x₀: its energy is Σ m (−a₀·(x − x₀) + ½ (x
    − x₀)ᵀ A (x − x₀) + r |x − x̂|² / 2τ), with the acceleration a₀ there, the positive part A of
    −∂a/∂x, and the rate r at which the law slows vertices at their initial speed. Laws that turn
    velocities turn them by the angle of the step, and add no speed.

    Args:
        law: the acceleration at a point.
        parameters: of the law.
        mass: (N,) of vertices, in kg.
    """

    is_dissipative = True

    def __init__(self, law: Law, parameters: TensorChannel, mass: Tensor) -> None:
        super().__init__(parameters)
        #: The acceleration at a point.
        self.law = law
        self._mass = mass
        self._start = self._origin = self._push = mass.new_zeros(3, len(mass))
        self._stiffness: Tensor | None = None
        self._rate = torch.zeros_like(mass)

    @staticmethod
    def for_system(law: Law, parameters: Channel, system: Nodes) -> FieldForce:
        """On its bodies, as far as fields count for them."""
        mass = system.mass.clone()
        for body, where in zip(system.bodies, system.body_slices(), strict=True):
            if body.field_weight is not None:
                mass[where] *= body.field_weight
        return FieldForce(law, TensorChannel.of(parameters, mass), mass)

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> FieldForce:
        masses = quantities[f"masses {index}"]
        return self._taped(quantities, index, frame, fraction, _mass=masses)

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        self.law(self.parameters, positions).add_forces(self._mass, velocities, out)

    def begin_frame(self, positions: Tensor, frame: int) -> None:
        self.law.begin_frame(self.at(frame, 0.0), positions, frame)

    def begin_time_step(self, step: TimeStep) -> None:
        self._start, self._origin = step.start, step.coasting_origin
        response, self._stiffness = self._linear_at(step.start)
        self._push, self._rate = response.push, torch.zeros_like(self._rate)
        if step.is_static:
            return
        velocities = (step.predicted - self._origin) / step.seconds
        rates = response.rates(velocities)
        # A rate that adds speed has no energy to be minimised.
        self._rate = rates.clamp(min=0.0) / step.seconds
        self._push = self._push - rates.clamp(max=0.0) * velocities
        ahead = turned(velocities, -step.seconds * response.spin)
        self._push = self._push + (ahead - velocities) / step.seconds

    def energy(self, positions: Tensor) -> Tensor:
        away, way = positions - self._start, positions - self._origin
        density = 0.5 * self._rate * (way * way).sum(0)
        density += (away * (0.5 * self._pulled_back(away) - self._push)).sum(0)
        return torch.dot(self._mass, density)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        pulled = self._pulled_back(positions - self._start) - self._push
        out.add_(self._mass * (pulled + self._rate * (positions - self._origin)))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        vertices = matrix.pattern.vertices
        matrix.add_diagonal((self._mass * self._rate)[vertices])
        if self._stiffness is not None:
            blocks = (self._mass * self._stiffness).flatten(0, 1).T
            matrix.add_diagonal_blocks(vertices, blocks[vertices])

    def rest_force_error(self, positions: Tensor) -> Tensor:
        linear = self._pulled_back(positions - self._start) - self._push
        return self._mass * (linear + self.law(self.parameters, positions).push)

    def _pulled_back(self, away: Tensor) -> Tensor:
        """(3, N) A (x − x₀) in m/s²."""
        if self._stiffness is None:
            return torch.zeros_like(away)
        return (self._stiffness * away).sum(1)

    def _linear_at(self, positions: Tensor) -> tuple[Response, Tensor | None]:
        """Return the response of the law at (3, N) positions, and its derivative (3, 3, N) A in
        1/s², if there is any; on autograd's tape where these or the parameters are."""
        on_tape = positions.requires_grad or self.parameters.requires_grad
        with torch.enable_grad():
            points = positions
            if not points.requires_grad:
                points = positions.detach().clone().requires_grad_()
            response = self.law(self.parameters, points)
            stiffness = _stiffness(response, points, on_tape)
        if on_tape:
            return response, stiffness
        return response.detached(), None if stiffness is None else stiffness.detach()


def _stiffness(response: Response, points: Tensor, on_tape: bool) -> Tensor | None:
    """Return the (3, 3, N) positive part of −∂a/∂x, in 1/s²; None where that is zero."""
    if not response.push.requires_grad:
        return None
    rows = [
        torch.autograd.grad(
            part.sum(), points, retain_graph=True, create_graph=on_tape, allow_unused=True
        )[0]
        for part in response.push
    ]
    if any(row is None for row in rows):
        return None
    # A field may have no derivative at its edge or centre.
    slopes = torch.stack(rows).nan_to_num(0.0, 0.0, 0.0).permute(2, 0, 1)
    if not bool(slopes.any()):
        return None
    return positive_part(-0.5 * (slopes + slopes.mT)).permute(1, 2, 0)


def turned(vectors: Tensor, turns: Tensor) -> Tensor:
    """(3, N) vectors, turned about (3, N) axes by as many radians as those are long.

    Source: Rodrigues' rotation formula.
    """
    angle = torch.linalg.vector_norm(turns, dim=0)
    axis = turns / angle.clamp(min=torch.finfo(angle.dtype).tiny)
    across = torch.linalg.cross(axis, vectors, dim=0)
    twice = torch.linalg.cross(axis, across, dim=0)
    return vectors + angle.sin() * across + (1.0 - angle.cos()) * twice


FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# The length, in edges of tets, below which the scale of a field needs samples within tets, and the
# samples along that scale.
_MAX_SCALE_EDGES, _SAMPLES_PER_SCALE = 6.0, 4.0
# In the tets of a body that a field reaches, and in one of them.
_MAX_SAMPLES, _MAX_TET_SAMPLES = 65_536, 2_048
_INSIDE = 0.5
# Samples are chosen once a frame, in which source and body may move by this part of the reach.
_REACH_FACTOR = 1.5
# The error tolerance, relative to the mass of a sample, and the most rounds.
_BALANCE_TOLERANCE, _MAX_BALANCE_ROUNDS = 1e-3, 100
# Kinds that point to or from their source.
_RADIAL = {"force", "magnetic", "lennard_jones"}


@dataclass(frozen=True, eq=False)
class FieldSamples:
    """Points of the material, which move with the corners of their tets.

    Attributes:
        corners: (C, Q) vertices that carry each point.
        weights: (C, Q) of these.
        shares: (C, Q) of the mean at each of these vertices, which the mass around them weighs.
        count: of all vertices.
    """

    corners: Tensor
    weights: Tensor
    shares: Tensor
    count: int

    def points(self, positions: Tensor) -> Tensor:
        """Return the (3, Q) places of the samples, at (3, N) positions."""
        if not takes_loops(positions):
            return (positions[:, self.corners] * self.weights).sum(1)
        points = positions.new_empty(3, self.corners.shape[1])
        use_threads(points.shape[1], VERTICES_PER_THREAD)
        arrays = self.corners.numpy(), self.weights.numpy(), positions.numpy(), points.numpy()
        write_sample_points(*arrays)
        return points

    def means(self, rows: Tensor, row_count: int) -> Tensor:
        """(R, N) means at the vertices of (R, Q) rows at the samples, of which the first
        ``row_count`` are not zero."""
        if not takes_loops(rows):
            spread = (rows[:, None] * self.shares).flatten(1)
            means = rows.new_zeros(len(rows), self.count)
            return means.index_add(1, self.corners.flatten(), spread)
        means = rows.new_empty(len(rows), self.count)
        order, offsets = self._vertex_order
        use_threads(rows.shape[1], VERTICES_PER_THREAD)
        write_means(order, offsets, self.shares.numpy(), rows.numpy(), row_count, means.numpy())
        return means

    @cached_property
    def _vertex_order(self) -> tuple[IntArray, IntArray]:
        """Return (CQ,) places in ``shares``, grouped by vertex, and (N + 1,) offsets."""
        return grouped(self.corners.numpy().ravel(), self.count)


class FieldSampler:
    """Samples of a field in all bodies of a system: within the tets that it reaches, where it
    varies inside of them, and at the vertices elsewhere.

    Args:
        field: the sampled field.
        system: the vertices of all bodies.
    """

    def __init__(self, field: ForceField, system: Nodes) -> None:
        self._field, self._template = field, system.mass
        self._bodies: list[_SampledBody] = []
        for body, mesh, where in zip(
            system.bodies, system.meshes, system.body_slices(), strict=True
        ):
            scale = _scale(field, mesh.vertices, float(mesh.mean_edges.mean()))
            surface = body.seen_surface
            self._bodies.append(_SampledBody(mesh, body.density, surface, scale, where.start))
        self._reached: list[IntArray] = []
        self._samples: FieldSamples | None = None

    @property
    def is_needed(self) -> bool:
        """Whether the field varies inside of the tets of any body."""
        return any(body.is_fine for body in self._bodies)

    def at(self, positions: FloatArray, frame: int) -> FieldSamples:
        """Return the samples for a frame that begins at (N, 3) positions."""
        # A recorded CUDA graph reads the same samples in every frame.
        whole = self._template.is_cuda
        reached = [
            body.fine_tets if whole else body.reached(self._field, positions, frame)
            for body in self._bodies
        ]
        if self._samples is None or not all(
            np.array_equal(new, old) for new, old in zip(reached, self._reached, strict=True)
        ):
            self._reached, self._samples = reached, self._joined_samples(reached)
        return self._samples

    def _joined_samples(self, reached: list[IntArray]) -> FieldSamples:
        parts = [body.samples(tets) for body, tets in zip(self._bodies, reached, strict=True)]
        corners, weights, spread = (np.concatenate(part) for part in zip(*parts, strict=True))
        numbers, coordinates, carried = corners.T, weights.T, spread.T
        around = np.bincount(numbers.ravel(), carried.ravel(), len(self._template))
        shares = carried / np.maximum(around, np.finfo(float).tiny)[numbers]
        template = self._template
        return FieldSamples(
            torch.as_tensor(np.ascontiguousarray(numbers, np.int64), device=template.device),
            torch.as_tensor(np.ascontiguousarray(coordinates)).to(template),
            torch.as_tensor(np.ascontiguousarray(shares)).to(template),
            len(template),
        )


class _SampledBody:
    """The tets of one body, and the material of its tets that were sampled before.

    Args:
        mesh: its tets at rest.
        density: of the body or each tet, in kg/m³.
        seen: the surface around the material, where tets are partly filled.
        scale: the length over which the field varies within it, in metres.
        start: its first vertex among those of all bodies.
    """

    def __init__(
        self,
        mesh: TetMesh,
        density: ArrayLike,
        seen: ContactSurface | None,
        scale: float,
        start: int,
    ) -> None:
        edge = float(mesh.mean_edges.mean())
        self.is_fine = scale < _MAX_SCALE_EDGES * edge
        self._mesh, self._seen, self._start = mesh, seen, start
        self._masses = np.broadcast_to(density, len(mesh.tets)) * mesh.material_volumes
        self._wish = (_SAMPLES_PER_SCALE * edge / scale) ** 3
        self._cells: IntArray | None = None

    @property
    def fine_tets(self) -> IntArray:
        """All tets where the field varies inside of them, else none."""
        return np.arange(len(self._mesh.tets) if self.is_fine else 0)

    def reached(self, field: ForceField, positions: FloatArray, frame: int) -> IntArray:
        """Return the tets to sample in a frame that begins at (N, 3) positions of all bodies."""
        mesh, reach = self._mesh, _reach(field)
        if not self.is_fine or reach is None:
            return self.fine_tets
        corners = positions[self._start : self._start + len(mesh.vertices)][mesh.tets]
        centres = corners.mean(axis=1)
        radii = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
        # The way of the source through the frame.
        origin = Channel.of(field.origin, "The origin", 3)
        first, last = origin.at(frame), origin.at(frame + 1)
        way = last - first
        along = (centres - first) @ way / max(float(way @ way), np.finfo(float).tiny)
        away = centres - first - np.clip(along, 0.0, 1.0)[:, None] * way
        return np.flatnonzero(np.linalg.norm(away, axis=1) < _REACH_FACTOR * reach + radii)

    def samples(self, chosen: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Samples within the chosen tets, and at vertices of the others: the (Q, 4) vertices that
        carry each, the (Q, 4) weights of these, and how much of its mass in kg each gets (Q, 4)."""
        mesh, count = self._mesh, len(self._mesh.vertices)
        others = np.ones(len(mesh.tets), dtype=bool)
        others[chosen] = False
        lumped = np.bincount(
            mesh.tets[others].ravel(), np.repeat(0.25 * self._masses[others], 4), count
        )
        at = np.flatnonzero(lumped > 0.0)
        corners = np.repeat(at[:, None], 4, axis=1)
        weights = np.tile([1.0, 0.0, 0.0, 0.0], (len(at), 1))
        spread = weights * lumped[at, None]
        if len(chosen) > 0:
            tets, coordinates, masses = self._material(chosen)
            within = _balanced_masses(
                mesh.tets[tets], coordinates, masses, mesh.tets[chosen], self._masses[chosen]
            )
            corners = np.concatenate([corners, mesh.tets[tets]])
            weights = np.concatenate([weights, coordinates])
            spread = np.concatenate([spread, within])
        return corners + self._start, weights, spread

    def _material(self, chosen: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Points of the material at rest: (Q,) tets, (Q, 4) barycentric coordinates in these, and
        (Q,) masses in kg that they stand for, in all those of the chosen tets."""
        mesh, seen = self._mesh, self._seen
        most = min(_MAX_TET_SAMPLES, _MAX_SAMPLES // (4 * len(chosen)) * 4)
        each = max(1, min(-(-int(min(self._wish, _MAX_SAMPLES)) // 4), most // 4))
        tets = np.repeat(chosen, 4 * each)
        # Equal samples at the corners of a tet, so that a linear field acts as at its centre.
        points = points_in_tets(0, len(chosen), each)
        turned = [np.roll(points, shift, axis=2) for shift in range(4)]
        coordinates = np.concatenate(turned, axis=1).reshape(-1, 4)
        amounts = np.full(len(tets), 1.0 / (4 * each))
        if mesh.fill is not None and seen is not None:
            partial = np.flatnonzero((mesh.fill != 1.0)[tets])
            places = np.einsum(
                "qc,qci->qi", coordinates[partial], mesh.vertices[mesh.tets[tets[partial]]]
            )
            inside = np.abs(winding_number(places, seen.points, seen.triangles)) > _INSIDE
            count = np.bincount(tets[partial][inside], minlength=len(mesh.tets))
            is_material = np.ones(len(tets), dtype=bool)
            is_material[partial] = inside | (count == 0)[tets[partial]]
            tets, coordinates = tets[is_material], coordinates[is_material]
            amounts = amounts[is_material] * self._corrections(chosen, count / (4 * each))[tets]
        masses = amounts * self._full_masses[tets]
        return tets, coordinates, masses * (self._masses[chosen].sum() / masses.sum())

    @property
    def _full_masses(self) -> FloatArray:
        """(M,) masses of the tets in kg, were all of them full."""
        return self._masses * self._mesh.rest_volumes / self._mesh.material_volumes

    def _corrections(self, chosen: IntArray, fractions: FloatArray) -> FloatArray:
        """Return the (M,) factors of the points in a tet. Copies of a cell share its material by
        their filled parts; a copy without a point inside has the factor of its filled part.

        Args:
            chosen: the sampled tets.
            fractions: (M,) of each tet that is inside the surface, by its points.
        """
        fill = self._mesh.fill
        assert fill is not None
        if self._cells is None:
            centres = self._mesh.vertices[self._mesh.tets].mean(axis=1)
            grid = np.round(centres / (1e-3 * float(self._mesh.mean_edges.mean())))
            self._cells = np.unique(grid, axis=0, return_inverse=True)[1].ravel()
        cell = self._cells
        together = np.bincount(cell, fill)[cell]
        factors = np.where(fractions > 0.0, fill / together, fill)
        return np.where(fill == 1.0, 1.0, factors)


class SampledLaw(Law):
    """A law whose response at a vertex is the mean over the material around it.

    Args:
        law: at points.
        sampler: chooses these points for each frame.
        positions: (N, 3) for the time before the first frame, in metres.
    """

    def __init__(self, law: Law, sampler: FieldSampler, positions: FloatArray) -> None:
        self._law, self._sampler = law, sampler
        self._samples = sampler.at(positions, 0)

    def begin_frame(self, parameters: Tensor, positions: Tensor, frame: int) -> None:
        self._samples = self._sampler.at(positions.detach().cpu().numpy().T, frame)
        self._law.begin_frame(parameters, self._samples.points(positions), frame)

    def __call__(self, parameters: Tensor, positions: Tensor) -> Response:
        response = self._law(parameters, self._samples.points(positions))
        return Response(self._samples.means(response.rows, self._law.row_count))


def _balanced_masses(
    corners: IntArray,
    coordinates: FloatArray,
    masses: FloatArray,
    tets: IntArray,
    tet_masses: FloatArray,
) -> FloatArray:
    """Return the part of the mass of each sample that each of its corners gets, (Q, 4) in kg.

    Each sample gives all of its mass, and each vertex gets a quarter of the tets around, as it
    does of gravity. The whole force is then the integral, and a uniform field accelerates all
    vertices alike.

    Material that fills one side of a tet is nearer to some corners than to others. Their
    barycentric coordinates are scaled by sample and by vertex in turn.

    Source: Sinkhorn, "A relationship between arbitrary positive matrices and doubly stochastic
    matrices", 1964.

    Args:
        corners: (Q, 4) vertices that carry each sample.
        coordinates: (Q, 4) its barycentric coordinates.
        masses: (Q,) of each, in kg.
        tets: (T, 4) vertices of the sampled tets.
        tet_masses: (T,) of these, in kg.
    """
    count = int(tets.max()) + 1
    lumped = np.bincount(tets.ravel(), np.repeat(0.25 * tet_masses, 4), count)
    spread = coordinates * masses[:, None]
    for _ in range(_MAX_BALANCE_ROUNDS):
        carried = np.bincount(corners.ravel(), spread.ravel(), count)
        spread *= (lumped / np.maximum(carried, np.finfo(float).tiny))[corners]
        totals = spread.sum(axis=1)
        if np.abs(totals / masses - 1.0).max() < _BALANCE_TOLERANCE:
            break
        spread *= (masses / totals)[:, None]
    return spread


def _reach(field: ForceField) -> float | None:
    """Return the reach of a field from its origin, in metres; None where no ball bounds it."""
    falloff = field.falloff
    is_ball = falloff.shape == "sphere" and field.shape == "point" and field.kind != "vortex"
    if falloff.max_distance is None or not is_ball or field.grid is not None:
        return None
    return field.unit * float(_samples(falloff.max_distance).max())


def _scale(field: ForceField, vertices: FloatArray, edge: float) -> float:
    """Return the length over which a field varies within a body, in metres; infinite where it is
    uniform.

    Args:
        vertices: (N, 3) of the body at the start, in metres.
        edge: of its tets, in metres.
    """
    falloff, unit = field.falloff, field.unit
    lengths = [np.inf]
    if falloff.max_distance is not None:
        lengths.append(unit * _least(falloff.max_distance))
    if falloff.max_radius is not None and falloff.shape == "tube":
        lengths.append(unit * _least(falloff.max_radius))
    for power in (falloff.power, falloff.radial_power):
        steepest = float(_samples(power).max())
        if steepest > 0.0:
            lengths.append(unit / steepest)
    if field.kind in {"turbulence", "lennard_jones", "harmonic"} and _least(field.size) > 0.0:
        lengths.append(unit * _least(field.size))
    if field.grid is not None:
        matrices = field.grid.matrix.samples[..., :3].reshape(-1, 3, 3)
        sides = np.linalg.norm(matrices, axis=1) * np.asarray(field.grid.cell)
        lengths.append(_SAMPLES_PER_SCALE * float(sides.min()))
    if field.kind in _RADIAL and field.shape != "plane":
        # Around its source it has another direction everywhere.
        lengths.append(max(edge, _distance(field, vertices)))
    return max(float(min(lengths)), 1e-3 * edge)


def _distance(field: ForceField, vertices: FloatArray) -> float:
    """The least distance in metres of a field's source from (N, 3) vertices, at any time."""
    origins, axes = _samples(field.origin, 3), _samples(field.axis, 3)
    least = np.inf
    for origin in origins:
        away = vertices - origin
        if field.shape == "line" or field.kind == "vortex":
            axis = axes[0] / np.linalg.norm(axes[0])
            away = away - (away @ axis)[:, None] * axis
        least = min(least, float(np.linalg.norm(away, axis=1).min()))
    return least


def _samples(value: Channel | ArrayLike, width: int = 1) -> FloatArray:
    """Return the (T, width) samples of a number or a vector that may change."""
    samples = value.samples if isinstance(value, Channel) else np.asarray(value, dtype=np.float64)
    return samples.reshape(-1, width)


def _least(value: Channel | float) -> float:
    return float(_samples(value).min())
