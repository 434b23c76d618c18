# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a body sags under its own weight, and how stiff it must be to sag by so much.

A block of height H that stands on its face carries ρ g (H − z) at height z, strains by that over E,
and is lower by ρ g H² / 2E in all, and by P H / AE more under a load P. A column taller than its
width falls aside long before it is pressed together: it stands while H³ < 7.837 E I / ρ g A
(Greenhill, "Determination of the Greatest Height Consistent with Stability that a Vertical Pole or
Mast Can Be Made", 1881), I / A being w² / 12 across its smaller side w. A load on top counts as
more of the same column. What is flat bends rather than sags, so a quarter of its length counts as
height.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SceneError
from ..scene import checks

#: Share of its height by which a body sags for which nobody has chosen a stiffness.
DEFAULT_SAG = 0.1
#: In m/s².
EARTH = (0.0, 0.0, -9.81)

_GREENHILL = 7.837 / 12.0  # of a rectangular column: H³ / w² in units of E / ρ g
_SAFETY_FACTOR = 2.0  # stiffness, in units of that at which a column falls aside
_MAX_SLENDERNESS = 5.0  # height over width; what is more slender than this may fall aside
_FLAT_RATIO = 0.25  # height, in units of the length, below which a body counts as flat
_DIRECTIONS = 60  # in which the width is looked for


def default_young(
    points: ArrayLike,
    density: float = 1000.0,
    gravity: Sequence[float] = EARTH,
    sag: float = DEFAULT_SAG,
    load: Load | None = None,
) -> float:
    """Young's modulus in Pa with which a body sags by about ``sag`` of its height, and stands.

    Args:
        points: (V, 3) in metres, of its surface or of a box around it.
        density: in kg/m³.
        gravity: (3,) in m/s²; where there is none, the Earth's counts.
        sag: share of the height.
        load: what stands on the body, which has to carry it and not fall aside under it.

    Raises:
        SceneError: without extent, where a point or gravity is not finite, or density or sag are
            not above zero.
    """
    checks.above_zero(density, "The density in kg/m³")
    checks.above_zero(sag, "The sag, as a share of the height,")
    pull = checks.vector(gravity, "Gravity in m/s²")
    places = checks.positions(points, "the body whose stiffness is sought")
    size = _Size.of(places, pull if any(pull) else EARTH, load or Load())
    if not size.stress > 0.0:
        raise SceneError("All points are at one place, so no stiffness suits their size.")
    return max(size.squeeze(density) / sag, _SAFETY_FACTOR * size.buckling_young(density))


def estimated_sag(
    points: ArrayLike,
    young: float,
    density: float = 1000.0,
    gravity: Sequence[float] = EARTH,
    load: Load | None = None,
) -> float:
    """Share of its height by which a body sags; infinite where it falls aside.

    Args:
        points: (V, 3) in metres, of its surface or of a box around it.
        young: Young's modulus in Pa.
        density: in kg/m³.
        gravity: (3,) in m/s².
        load: what stands on the body.
    """
    size = _Size.of(points, gravity, load or Load())
    if young <= max(size.buckling_young(density), 0.0):
        return math.inf
    return size.squeeze(density) / young


@dataclass(frozen=True)
class Load:
    """Bodies that stand on another one.

    Args:
        mass: in kg.
        height: in metres, above the top of the one below.
    """

    mass: float = 0.0
    height: float = 0.0


@dataclass(frozen=True)
class _Size:
    """What of its extent a body's weight depends on.

    Args:
        stress: at its foot, over the density: gravity times height, in m²/s².
        slenderness: height, with that of its load, over the smaller width.
        pressure: of its load, in Pa.
    """

    stress: float
    slenderness: float
    pressure: float = 0.0

    def squeeze(self, density: float) -> float:
        """The mean stress along gravity, in Pa."""
        return 0.5 * density * self.stress + self.pressure

    def buckling_young(self, density: float) -> float:
        """Young's modulus in Pa at which it falls aside, with its load as one column."""
        return (density * self.stress + self.pressure) * self.slenderness**2 / _GREENHILL

    @staticmethod
    def of(points: ArrayLike, gravity: Sequence[float], load: Load) -> _Size:
        places, pull = np.asarray(points, dtype=np.float64), np.asarray(gravity, dtype=np.float64)
        strength = float(np.linalg.norm(pull))
        if len(places) == 0 or strength == 0.0:
            return _Size(0.0, 0.0)
        # Two columns of a rotation whose first is along gravity.
        frame, _ = np.linalg.qr(np.column_stack([pull, np.eye(3)]))
        height = float(np.ptp(places @ frame[:, 0]))
        widths = _widths(places @ frame[:, 1:3])
        column = height + load.height
        slenderness = column / max(float(widths.min()), column / _MAX_SLENDERNESS, 1e-300)
        length = max(height, float(widths.max()))
        # The smallest rectangle around it.
        area = float((widths * np.roll(widths, _DIRECTIONS // 2)).min())
        pressure = load.mass * strength / area if area > 0.0 else 0.0
        return _Size(strength * max(height, _FLAT_RATIO * length), slenderness, pressure)


def _widths(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of points (V, 2), in directions half a turn around."""
    turns = np.linspace(0.0, math.pi, _DIRECTIONS, endpoint=False)
    extents: NDArray[np.float64] = np.ptp(points @ [np.cos(turns), np.sin(turns)], axis=0)
    return extents
