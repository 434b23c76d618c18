# SPDX-License-Identifier: GPL-3.0-or-later
"""The pile in Supple, in the steps that an integrator chooses."""

from __future__ import annotations

import numpy as np
import torch

from supple.core import Simulator, integrators

from ..pile import FRAMES, Pile, Positions

# Until bodies touch: what is not compiled yet is compiled by them.
WARM_UP = 7


class SupplePile:
    def __init__(self, pile: Pile, steps: int | None, integrator: str) -> None:
        torch.set_num_threads(1)  # as in the worker: the compiled loops bring their own
        scheme = getattr(integrators, integrator)()
        for _ in Simulator(pile.scene, scheme, substeps=steps, device="cpu").run(WARM_UP):
            pass
        self._frames = Simulator(pile.scene, scheme, substeps=steps, device="cpu").run(FRAMES)

    def frame(self) -> Positions:
        return np.array([positions.numpy() for positions in next(self._frames).positions])
