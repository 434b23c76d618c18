# SPDX-License-Identifier: GPL-3.0-or-later
"""Where force fields are sampled in bodies whose tets are larger than what the fields vary over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..geometry.tet_mesh import TetMesh
from ..geometry.winding_number import winding_number
from ..meshing.cells import points_in_tets
from ..scene.channel import Channel
from ..scene.contact_settings import ContactSurface
from .field_laws import Law, Response
from .nodes import Nodes

if TYPE_CHECKING:
    from ..scene.force_fields import ForceField

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
    def of_system(field: ForceField, system: Nodes) -> FieldSamples | None:
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
                wanted = int(np.clip((_SAMPLES_PER_SCALE * edge / scale) ** 3, 1, _MAX_SAMPLES))
                count = 4 * max(1, min(-(-wanted // 4), _MAX_SAMPLES // (4 * len(mesh.tets))))
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
        """(3, Q) where the samples are, at (3, N) positions."""
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
        found = self._law(parameters, self._samples.points(positions))
        count = positions.shape[1]

        def mean(values: Tensor) -> Tensor:
            return self._samples.means(values, count)

        def mean_rate(values: Tensor) -> Tensor:
            return mean(values[None])[0]

        return replace(
            found,
            push=mean(found.push),
            rate=mean_rate(found.rate),
            speed_rate=None if found.speed_rate is None else mean_rate(found.speed_rate),
            spin=None if found.spin is None else mean(found.spin),
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
    """What a field varies over within a body, in metres; infinite where it is uniform.

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
    """(T, width) of a number or a vector that may change."""
    samples = value.samples if isinstance(value, Channel) else np.asarray(value, dtype=np.float64)
    return samples.reshape(-1, width)


def _least(value: Channel | float) -> float:
    return float(_samples(value).min())
