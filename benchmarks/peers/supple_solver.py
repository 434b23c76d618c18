# SPDX-License-Identifier: GPL-3.0-or-later
"""Supple, with the integrator and the response of the ground that are asked for."""

from __future__ import annotations

from typing import Any, Literal

import torch

from supple.core import Ground, InstabilityError, Scene, Simulator, SoftBody, integrators
from supple.core.materials import StableNeoHookean

from ..drop import DENSITY, FRAME_RATE, GRAVITY, Drop, Positions
from .peer import PeerInstabilityError


class SuppleSolver:
    def __init__(
        self,
        drop: Drop,
        integrator: str,
        response: Literal["barrier", "projection"] = "barrier",
        **settings: Any,
    ) -> None:
        torch.set_num_threads(1)  # as in the worker: the compiled loops bring their own
        self._integrator = getattr(integrators, integrator)(**settings)
        material = StableNeoHookean(drop.young, drop.poisson)
        self._scene = Scene(
            [SoftBody(drop.mesh, material, density=DENSITY)],
            ground=Ground(friction=drop.friction, response=response),
            gravity=(0.0, 0.0, -GRAVITY),
        )

    def start(self, steps: int) -> None:
        self.work: dict[str, int] = {}
        try:
            self._simulator = Simulator(
                self._scene,
                self._integrator,
                frame_time=1.0 / FRAME_RATE,
                substeps=steps,
                device="cpu",
            )
        except InstabilityError as error:
            raise PeerInstabilityError(str(error)) from error

    def frame(self) -> Positions:
        try:
            frame = next(self._simulator.run(1))
        except InstabilityError as error:
            raise PeerInstabilityError(str(error)) from error
        for name, value in frame.report.record().items():
            if name.endswith("iterations") and value:
                self.work[name] = self.work.get(name, 0) + int(value)
        return frame.positions[0].numpy()
