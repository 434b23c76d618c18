# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a body that differ from place to place, as they are painted on its surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.triangles import closest_among_near, closest_points
from . import checks

PaintedSetting = Literal[
    "young",
    "density",
    "damping",
    "stiffness_damping",
    "viscosity",
    "yield_stress",
    "friction",
    "drag",
    # Files know the choices of *Overlay* by their numbers: others follow at the end.
    "loss_factor",
]
#: The settings that can be painted: Young's modulus of the material, the yield stress of the
#: plasticity, and members of a ``SoftBody``; friction is the static and the kinetic one.
PAINTED_SETTINGS: tuple[PaintedSetting, ...] = get_args(PaintedSetting)
# The most pairs of points and triangles to compare; neighbours on a dense surface are alike.
_MAX_PAIRS = 1 << 24
# A body has some of these everywhere.
_ABOVE_ZERO = {"young", "density", "yield_stress"}


@dataclass(eq=False)
class Paint:
    """Painted factors on a setting.

    Args:
        setting: of the body, one of ``PAINTED_SETTINGS``.
        factors: (V,) factors, one a vertex of the surface: above 0 for ``young``, ``density`` and
            ``yield_stress``, else 0 or more. Inside the body they are interpolated smoothly.
    """

    setting: PaintedSetting
    factors: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not isinstance(self.setting, str) or self.setting not in PAINTED_SETTINGS:
            choices = ", ".join(PAINTED_SETTINGS)
            raise SceneError(f"{self.setting!r} cannot be painted; choose one of {choices}.")
        self.factors = checks.numbers(self.factors, f"the factors on {self.setting}")
        needs_some = self.setting in _ABOVE_ZERO
        enough = self.factors > 0.0 if needs_some else self.factors >= 0.0
        wrong = np.flatnonzero(~(enough & np.isfinite(self.factors)))
        if len(wrong):
            expected = "above 0" if needs_some else "0 or more"
            raise SceneError(
                f"the factor on {self.setting} must be {expected} everywhere, and is "
                f"{self.factors.flat[wrong[0]]:g} at vertex {wrong[0]}."
            )

    def check_length(self, vertices: int) -> None:
        """Check the number of factors.

        Raises:
            SceneError: if there is not one factor for each vertex.
        """
        if self.factors.shape != (vertices,):
            raise SceneError(
                f"the factors on {self.setting} have the shape {self.factors.shape}, but the "
                f"surface has {vertices} vertices; give one a vertex."
            )


@dataclass(eq=False)
class SurfacePaint:
    """Factors on a surface, for the contact surface that replaces it.

    Args:
        points: (V, 3) of the surface at rest, in metres.
        triangles: (F, 3) indices of points.
        factors: (V,), 0 or more; in between they are linear.
    """

    points: NDArray[np.float64]
    triangles: NDArray[np.int32]
    factors: NDArray[np.float64]

    def __post_init__(self) -> None:
        self.points = checks.positions(self.points, "the painted surface")
        self.triangles = checks.triangles(self.triangles, len(self.points), "the painted surface")
        paint = Paint("friction", self.factors)
        paint.check_length(len(self.points))
        self.factors = paint.factors

    def at(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (P,) factors where the surface is closest to (P, 3) points at rest."""
        exactly = len(points) * len(self.triangles) <= _MAX_PAIRS
        closest = closest_points if exactly else closest_among_near
        triangle, weights = closest(points, self.points, self.triangles)
        return (weights * self.factors[self.triangles[triangle]]).sum(axis=1)
