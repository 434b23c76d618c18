# SPDX-License-Identifier: GPL-3.0-or-later
"""An elastic ball on a rigid plane: Hertz's half-space, and the whole ball under his pressure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# The series converges like its index to the power −3/2, the quadrature far faster.
HARMONICS, NODES = 1000, 1000
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Ball:
    """Pressed on the plane by its own weight.

    Args:
        radius: in metres.
        young, poisson: of the ball; the plane is rigid.
        force: with which it is pressed, in newtons.
    """

    radius: float
    young: float
    poisson: float
    force: float

    @property
    def contact_radius(self) -> float:
        """a³ = 3 F R / 4 E*, in metres (Hertz, 1882)."""
        modulus = self.young / (1.0 - self.poisson**2)
        return (3.0 * self.force * self.radius / (4.0 * modulus)) ** (1.0 / 3.0)

    @property
    def half_space_approach(self) -> float:
        """a²/R in metres: how far distant points come nearer, where a is far below R."""
        return self.contact_radius**2 / self.radius

    def approach(self) -> float:
        """In metres, of the centre of mass to the middle of the contact, under Hertz's pressure.

        The traction on the sphere, vertical and of Hertz's size, is developed in Legendre
        polynomials about the pole that touches; each has its solution in the ball.
        """
        return -math.fsum(self._pole_displacements())

    def _pole_displacements(self) -> Iterator[float]:
        """Outwards at the pole, by harmonic, the centre of mass at rest."""
        shear = self.young / (2.0 * (1.0 + self.poisson))
        lam = 2.0 * shear * self.poisson / (1.0 - 2.0 * self.poisson)
        for n, normal, tangential in self._tractions():
            if n == 1:
                yield self._weighed_down(shear, lam, normal, tangential)
            else:
                yield self._squeezed(n, normal / (2.0 * shear), tangential / (2.0 * shear))

    def _tractions(self) -> Iterator[tuple[int, float, float]]:
        """Coefficients of σ_rr in P_n and of τ_rθ in dP_n/dθ, in pascal."""
        a, radius = self.contact_radius, self.radius
        nodes, weights = np.polynomial.legendre.leggauss(NODES)  # type: ignore[no-untyped-call]
        turn = 0.25 * math.pi * (nodes + 1.0)
        sine = a / radius * np.sin(turn)
        cosine = np.sqrt(1.0 - sine**2)
        # Force on an area of the sphere; p₀ √(1 − r²/a²) is that on its shadow on the plane.
        force = 1.5 * self.force / (math.pi * a * a) * np.cos(turn) * cosine
        # sin θ dθ, with sin θ = a/R sin(turn).
        area = 0.25 * math.pi * weights * a / radius * np.cos(turn) / cosine * sine
        for n, value, slope in _legendre(cosine, sine):
            normal = -0.5 * (2 * n + 1) * (force * cosine * value * area).sum()
            along = (force * sine * slope * area).sum() if n else 0.0
            yield n, float(normal), 0.5 * (2 * n + 1) / max(n * (n + 1), 1) * float(along)

    def _squeezed(self, n: int, normal: float, tangential: float) -> float:
        """From the two solutions regular at the centre (Lurie, 1964); tractions over 2G."""
        nu = self.poisson
        if n == 0:
            return normal / (-2.0 - 2.0 * nu) * (4.0 * nu - 2.0) * self.radius
        stresses = [
            [(n + 1) * (n * n - n - 2 - 2 * nu), n * (n - 1)],
            [n * n + 2 * n - 1 + 2 * nu, n - 1],
        ]
        first, second = np.linalg.solve(stresses, [normal, tangential])
        return float(first * (n + 1) * (n - 2 + 4 * nu) + second * n) * self.radius

    def _weighed_down(self, shear: float, lam: float, normal: float, tangential: float) -> float:
        """u = α r² e_z + β z x under the weight that this harmonic carries, less its mean."""
        tractions = [[2.0 * shear, shear], [2.0 * lam + 4.0 * shear, 4.0 * lam + 4.0 * shear]]
        alpha, beta = np.linalg.solve(tractions, [tangential, normal]) / self.radius
        return float(alpha + beta - 0.6 * (alpha + beta / 3.0)) * self.radius**2


def _legendre(cosine: Values, sine: Values) -> Iterator[tuple[int, Values, Values]]:
    """n, P_n(cos θ) and dP_n/dθ."""
    before, now = np.zeros_like(cosine), np.ones_like(cosine)
    for n in range(HARMONICS):
        yield n, now, n * (cosine * now - before) / sine
        before, now = now, ((2 * n + 1) * cosine * now - n * before) / (n + 1)
