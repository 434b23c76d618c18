# SPDX-License-Identifier: GPL-3.0-or-later
"""The plasticity of a body: the onset, rate and limit of lasting deformation. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..tracked import tracks_tensors
from . import checks

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
