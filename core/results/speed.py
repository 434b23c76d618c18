# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the material moves."""

from __future__ import annotations

import torch
from torch import Tensor

from ..state import State
from ..system import System
from .fields import Field, IsImplicit, by_body


def speed(system: System, _: IsImplicit) -> Field:
    """|v| of each vertex in m/s."""

    def field(state: State) -> list[Tensor]:
        return by_body(system, torch.linalg.vector_norm(state.velocities, dim=0))

    return field
