# SPDX-License-Identifier: GPL-3.0-or-later
"""Rest shapes beside that of the mesh: one that changes over time, for growth and muscles, and one
of tetrahedra alone; plasticity, which changes them for good. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..tracked import tracks_tensors
from . import checks
from .channel import Channel

FloatArray = NDArray[np.float64]


@tracks_tensors
@dataclass(frozen=True, eq=False)
class RestShape:
    """The rest shape of a mesh, plus displacements with an amount at each frame.

    A path of T rest shapes has a displacement a frame, and the identity matrix as its amounts.

    Args:
        displacements: (K, V, 3) of the vertices, in metres.
        amounts: channel of the (K,) factors on them, or its (T, K) samples.

    Raises:
        SceneError: when the numbers are of other shapes, or not finite.
    """

    displacements: FloatArray
    amounts: Channel

    def __post_init__(self) -> None:
        displacements = checks.numbers(self.displacements, "The displacements of a rest shape")
        if displacements.ndim != 3 or displacements.shape[2] != 3 or len(displacements) == 0:
            raise SceneError(
                "The displacements of a rest shape must be (K, V, 3) numbers, not "
                f"{displacements.shape}."
            )
        if not np.isfinite(displacements).all():
            key, vertex = np.argwhere(~np.isfinite(displacements))[0][:2]
            raise SceneError(
                f"Displacement {key} of the rest shape is not finite at vertex {vertex}."
            )
        amounts = Channel.of(self.amounts, "The amounts of a rest shape", len(displacements))
        object.__setattr__(self, "displacements", displacements)
        object.__setattr__(self, "amounts", amounts)

    def check(self, count: int, name: str) -> None:
        """Check the number of vertices.

        Args:
            count: of the vertices it is to be of.
            name: the name of the body.

        Raises:
            SceneError: when it has another number of vertices.
        """
        if self.displacements.shape[1] != count:
            raise SceneError(
                f"{name}: the rest shape has {self.displacements.shape[1]} vertices, the mesh "
                f"{count}."
            )

    def displaced(self, vertices: FloatArray, amounts: FloatArray) -> FloatArray:
        """Return (V, 3) rest positions for (K,) amounts, in metres."""
        return vertices + np.tensordot(amounts, self.displacements, axes=1)

    def at_start(self, vertices: FloatArray) -> FloatArray:
        """Return (V, 3) rest positions at the start, in metres."""
        return self.displaced(vertices, self.amounts.at(0))


@dataclass(frozen=True, eq=False)
class TetRestShape:
    """A rest shape that tetrahedra have and the surface around them has not: with it a body is in
    equilibrium as it was modelled.

    Args:
        vertices: (N, 3) tet vertices as the surface was filled, in metres.
        tets: (M, 4) indices of them.
        rest: (N, 3) where they are at rest, in metres.

    Raises:
        SceneError: when these do not go together, or are not finite.
    """

    vertices: FloatArray
    tets: NDArray[np.int32]
    rest: FloatArray

    def __post_init__(self) -> None:
        vertices = checks.positions(self.vertices, "the tet vertices of a rest shape")
        rest = checks.positions(self.rest, "a rest shape of tetrahedra")
        if len(vertices) != len(rest):
            raise SceneError(
                f"The rest shape has {len(rest)} tet vertices, and the tetrahedra have "
                f"{len(vertices)}."
            )
        tets = checks.tets(self.tets, len(vertices), "a rest shape")
        for name, value in (("vertices", vertices), ("tets", tets), ("rest", rest)):
            object.__setattr__(self, name, value)


#: The kind of control that brings a body to its goal.
ControlKind = Literal["forces", "pins"]


@dataclass(frozen=True, eq=False)
class TetControl:
    """Forces on tet vertices, or a motion of pins beside their own, of the tetrahedra that are to
    fill a body. ``job.fits.FollowKeys`` finds such.

    Args:
        vertices: (N, 3) tet vertices at rest, in metres.
        tets: (M, 4) indices of them.
        by: ``forces`` that accelerate the vertices, or ``pins`` that leave their path.
        channel: of (N, 3): accelerations in m/s², or by how much a pin is off its path, in metres.

    Raises:
        SceneError: when these do not go together, or are not finite.
    """

    vertices: NDArray[np.float64]
    tets: NDArray[np.int32]
    by: ControlKind
    channel: Channel

    def __post_init__(self) -> None:
        checks.choice(self.by, ControlKind, "The kind of control of tet vertices")
        vertices = checks.positions(self.vertices, "the tet vertices of a control")
        tets = checks.tets(self.tets, len(vertices), "a control")
        channel = Channel.of(self.channel, "The control of tet vertices", len(vertices), 3)
        for name, value in (("vertices", vertices), ("tets", tets), ("channel", channel)):
            object.__setattr__(self, name, value)


#: As a strain: a body pulled to 4.5 times its length, or pressed to a fifth of it, and a little
#: more. Tets that are flatter still cost explicit steps dearly.
DEFAULT_LIMIT = 1.5


@tracks_tensors
@dataclass(frozen=True)
class Plasticity:
    """Von Mises plasticity of finite strain, which keeps the volume.

    Args:
        yield_stress: in pascal, above 0: a bar that is pulled harder stays longer. A number, or
            (M,) one value a tet.
        creep_time: the time in seconds in which the stress above the yield stress falls to 1/e at
            a constant shape; 0 is at once.
        hardening: in pascal, by which the yield stress grows with each unit of plastic strain.
        limit: the largest plastic strain, logarithmic, of a bar: beyond, the body is elastic.

    Raises:
        SceneError: when a number lies outside its range.
    """

    yield_stress: float | NDArray[np.float64]
    creep_time: float = 0.0
    hardening: float = 0.0
    limit: float = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        values = checks.numbers(self.yield_stress, "The yield stress")
        wrong = values[~((values > 0.0) & np.isfinite(values))]
        if wrong.size:
            raise SceneError(
                f"The yield stress must be above 0 Pa, not {wrong.flat[0]:g}. Modelling clay has "
                "about 1e4. For a body without plasticity, leave it out."
            )
        checks.at_least_zero(self.creep_time, "The creep time, in seconds,")
        checks.at_least_zero(self.hardening, "The hardening, in pascal,")
        checks.above_zero(self.limit, "The limit of the plastic strain")
