# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a body that differ from place to place, as they are painted on its surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError

PaintedSetting = Literal["young", "density", "damping", "stiffness_damping", "viscosity"]
#: What can be painted: Young's modulus of the material, and members of a ``SoftBody``.
PAINTED_SETTINGS: tuple[PaintedSetting, ...] = get_args(PaintedSetting)
# A body has some of these everywhere.
_ABOVE_ZERO = {"young", "density"}


@dataclass(eq=False)
class Paint:
    """
    Args:
        setting: of the body, one of ``PAINTED_SETTINGS``.
        factors: (V,) what it is multiplied by, one a vertex of the surface: above 0 for ``young``
            and ``density``, else 0 or more. Inside the body they are interpolated smoothly.
    """

    setting: PaintedSetting
    factors: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.setting not in PAINTED_SETTINGS:
            choices = ", ".join(PAINTED_SETTINGS)
            raise SceneError(f"{self.setting!r} cannot be painted; choose one of {choices}.")
        self.factors = np.ascontiguousarray(self.factors, dtype=np.float64)
        needs_some = self.setting in _ABOVE_ZERO
        enough = self.factors > 0.0 if needs_some else self.factors >= 0.0
        wrong = np.flatnonzero(~(enough & np.isfinite(self.factors)))
        if len(wrong):
            wanted = "above 0" if needs_some else "0 or more"
            raise SceneError(
                f"the factor on {self.setting} must be {wanted} everywhere, and is "
                f"{self.factors.flat[wrong[0]]:g} at vertex {wrong[0]}."
            )

    def check_length(self, vertices: int) -> None:
        """
        Raises:
            SceneError: when it is not one factor for each of so many vertices.
        """
        if self.factors.shape != (vertices,):
            raise SceneError(
                f"the factors on {self.setting} have the shape {self.factors.shape}, but the "
                f"surface has {vertices} vertices; give one a vertex."
            )
