# SPDX-License-Identifier: GPL-3.0-or-later
"""The force of a field on bodies, and the samples where it varies within tets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..geometry.tet_mesh import TetMesh
from ..geometry.winding_number import winding_number
from ..meshing.cells import points_in_tets
from ..scene.channel import Channel
from ..scene.contact_settings import ContactSurface
from ..scene.force_fields import ForceField
from .field_laws import Law, Response
from .nodes import Nodes
from .potential import PrescribedPotential, TimeStep


class FieldForce(PrescribedPotential):
    """Forces m a(x, v), a the acceleration of a law.

    An implicit step of τ seconds from x₀ takes the law as it is linear there: its energy is
    Σ m (−a₀·(x − x₀) + ½ (x − x₀)ᵀ A (x − x₀) + r |x − x̂|² / 2τ), with what the law pushes,
    A what of −∂a/∂x pulls back, and r the rate at which it takes velocities away at the speed that
    vertices start with. What turns velocities does so by the angle of the step, so that it adds
    no speed.

    Args:
        law: what it does at a point.
        parameters: of the law.
        mass: (N,) what it acts on, in kg.
    """

    is_dissipative = True

    def __init__(self, law: Law, parameters: TensorChannel, mass: Tensor) -> None:
        super().__init__(parameters)
        #: What it does at a point.
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

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        response = self.law(self.parameters, positions)
        out.sub_(self._mass * response.acceleration(velocities))

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
        if response.spin is not None:
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
        1/s², if there is any.
        """
        with torch.enable_grad():
            points = positions.detach().clone().requires_grad_()
            response = self.law(self.parameters, points)
            if not response.push.requires_grad:
                return response.detached(), None
            rows = [
                torch.autograd.grad(part.sum(), points, retain_graph=True)[0]
                for part in response.push
            ]
        # Where a field has an edge or a centre, it may have no derivative.
        slopes = torch.stack(rows).nan_to_num(0.0, 0.0, 0.0).permute(2, 0, 1)
        if not bool(slopes.any()):
            return response.detached(), None
        values, vectors = torch.linalg.eigh(-0.5 * (slopes + slopes.mT))
        stiffness = (vectors * values.clamp(min=0.0)[:, None]) @ vectors.mT
        return response.detached(), stiffness.permute(1, 2, 0)


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

# In edges of the tets: a field that varies over less is sampled within them, this often along what
# it varies over.
_MAX_SCALE_EDGES, _SAMPLES_PER_SCALE = 6.0, 4.0
# In a body.
_MAX_SAMPLES = 65_536
_INSIDE = 0.5
# Kinds that point to or from their source.
_RADIAL = {"force", "magnetic", "lennard_jones"}


@dataclass(frozen=True, eq=False)
class FieldSamples:
    """Points of the material, which move with the corners of their tets.

    Attributes:
        corners: (C, Q) vertices that carry each point.
        weights: (C, Q) of these.
        shares: (C, Q) of the mean at each of these vertices, which the mass around them weighs.
    """

    corners: Tensor
    weights: Tensor
    shares: Tensor

    @staticmethod
    def for_system(field: ForceField, system: Nodes) -> FieldSamples | None:
        """Samples of all bodies of a system; None where no field varies inside of a tet."""
        corners, weights, masses = [], [], []
        is_fine = False
        for body, mesh, where in zip(
            system.bodies, system.meshes, system.body_slices(), strict=True
        ):
            edge = float(mesh.mean_edges.mean())
            scale = _scale(field, mesh.vertices, edge)
            if scale < _MAX_SCALE_EDGES * edge:
                is_fine = True
                wish = int(np.clip((_SAMPLES_PER_SCALE * edge / scale) ** 3, 1, _MAX_SAMPLES))
                count = 4 * max(1, min(-(-wish // 4), _MAX_SAMPLES // (4 * len(mesh.tets))))
                tets, coordinates, amounts = _material_points(mesh, count, body.seen_surface)
                mass = np.broadcast_to(body.density, len(mesh.tets))[tets] * amounts
                corners.append(mesh.tets[tets] + where.start)
                weights.append(coordinates)
            else:
                vertices = np.arange(where.start, where.stop)
                corners.append(np.repeat(vertices[:, None], 4, axis=1))
                weights.append(np.tile([1.0, 0.0, 0.0, 0.0], (len(vertices), 1)))
                mass = np.ones(len(vertices))
            masses.append(mass)
        if not is_fine:
            return None
        numbers, coordinates = np.concatenate(corners).T, np.concatenate(weights).T
        carried = coordinates * np.concatenate(masses)
        around = np.bincount(numbers.ravel(), carried.ravel(), len(system.mass))
        shares = carried / np.maximum(around, np.finfo(float).tiny)[numbers]
        return FieldSamples(
            torch.as_tensor(np.ascontiguousarray(numbers, np.int64), device=system.mass.device),
            torch.as_tensor(np.ascontiguousarray(coordinates)).to(system.mass),
            torch.as_tensor(np.ascontiguousarray(shares)).to(system.mass),
        )

    def points(self, positions: Tensor) -> Tensor:
        """Return the (3, Q) places of the samples, at (3, N) positions."""
        return (positions[:, self.corners] * self.weights).sum(1)

    def means(self, values: Tensor, count: int) -> Tensor:
        """(K, N) means at so many vertices of (K, Q) values at the samples."""
        spread = (values[:, None] * self.shares).flatten(1)
        means = values.new_zeros(len(values), count)
        return means.index_add(1, self.corners.flatten(), spread)


class SampledLaw(Law):
    """A law whose response at a vertex is the mean over the material around it.

    Args:
        law: at points.
        samples: these points.
    """

    def __init__(self, law: Law, samples: FieldSamples) -> None:
        self._law, self._samples = law, samples

    def begin_frame(self, parameters: Tensor, positions: Tensor, frame: int) -> None:
        self._law.begin_frame(parameters, self._samples.points(positions), frame)

    def __call__(self, parameters: Tensor, positions: Tensor) -> Response:
        response = self._law(parameters, self._samples.points(positions))
        count = positions.shape[1]

        def mean(values: Tensor) -> Tensor:
            return self._samples.means(values, count)

        def mean_rate(values: Tensor) -> Tensor:
            return mean(values[None])[0]

        return replace(
            response,
            push=mean(response.push),
            rate=mean_rate(response.rate),
            speed_rate=None if response.speed_rate is None else mean_rate(response.speed_rate),
            spin=None if response.spin is None else mean(response.spin),
        )


def _material_points(
    mesh: TetMesh, count: int, seen: ContactSurface | None
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Points of the material at rest: (Q,) tets, (Q, 4) barycentric coordinates in these, and (Q,)
    volumes in m³ that they stand for.

    Args:
        count: in each tet, a multiple of four.
        seen: the surface around the material, where tets are partly filled.
    """
    tets = np.repeat(np.arange(len(mesh.tets)), count)
    # The same at each corner of all tets, so that what is linear acts as at their middles.
    points = points_in_tets(0, 1, count // 4)[0]
    corners = np.concatenate([np.roll(points, shift, axis=1) for shift in range(4)])
    coordinates = np.tile(corners, (len(mesh.tets), 1))
    if mesh.fill is not None and seen is not None:
        partial = np.flatnonzero((mesh.fill != 1.0)[tets])
        points = np.einsum(
            "qc,qci->qi", coordinates[partial], mesh.vertices[mesh.tets[tets[partial]]]
        )
        inside = np.abs(winding_number(points, seen.points, seen.triangles)) > _INSIDE
        is_empty = np.bincount(tets[partial][inside], minlength=len(mesh.tets)) == 0
        kept = np.ones(len(tets), dtype=bool)
        kept[partial] = inside | is_empty[tets[partial]]
        tets, coordinates = tets[kept], coordinates[kept]
    in_each = np.bincount(tets, minlength=len(mesh.tets))
    return tets, coordinates, (mesh.material_volumes / in_each)[tets]


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
