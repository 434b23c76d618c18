# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene partitioned by integrators: bodies that do not touch, each with one of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from .errors import SceneError
from .integrators import Integrator
from .potentials.tet_flow import ROWS
from .scene.scene import Scene
from .simulator import Frame, Report, Simulator
from .state import fitting


class PartitionedSimulator:
    """One simulator for all bodies that share an integrator, and their frames put together.

    Args:
        scene: its bodies.
        integrators: one a body; equal ones share a simulator.
        frame_time, substeps, device, dtype, is_prepared, results: as a ``Simulator`` takes
            them.

    Raises:
        SceneError, InstabilityError: as a ``Simulator`` does.
    """

    def __init__(
        self,
        scene: Scene,
        integrators: Sequence[Integrator],
        *,
        frame_time: float = 1.0 / 24.0,
        substeps: int | None = None,
        device: str = "auto",
        dtype: torch.dtype = torch.float64,
        is_prepared: bool = False,
        results: Sequence[str] = (),
    ) -> None:
        if len(integrators) != len(scene.bodies):
            raise SceneError(
                f"There are {len(scene.bodies)} bodies, but {len(integrators)} integrators for "
                "them; give one a body."
            )
        groups: dict[Integrator, list[int]] = {}
        for index, integrator in enumerate(integrators):
            groups.setdefault(integrator, []).append(index)
        if len(groups) > 1 and scene.couples_bodies:
            raise SceneError(
                "Bodies that touch or hold each other have to share an integrator; give all the "
                "same one, or do without contact, attachments and stitches."
            )
        self._members = list(groups.values())
        self.simulators = [
            Simulator(
                replace(scene, bodies=[scene.bodies[index] for index in members]),
                integrator,
                frame_time=frame_time,
                substeps=substeps,
                device=device,
                dtype=dtype,
                is_prepared=is_prepared,
                results=results,
            )
            for integrator, members in groups.items()
        ]

    @property
    def index(self) -> int:
        """Of the present frame."""
        return self.simulators[0].state.frame

    def run(self, frames: int) -> Iterator[Frame]:
        """Simulates ``frames`` more frames, yielding each as it is done.

        Raises:
            InstabilityError: when a frame diverges; the frames before it stand.
        """
        for parts in zip(*(simulator.run(frames) for simulator in self.simulators), strict=True):
            yield self._together(list(parts))

    def frame(self) -> Frame:
        """The present state as a frame."""
        return self._together([simulator.frame() for simulator in self.simulators])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The state, to go on from later."""
        return {
            f"{number}/{name}": values
            for number, simulator in enumerate(self.simulators)
            for name, values in simulator.state.to_arrays().items()
        }

    def restore(self, frame: int, arrays: dict[str, NDArray[Any]]) -> None:
        """Goes to the state that ``to_arrays`` saved.

        Raises:
            JobError: when the arrays do not fit these bodies.
        """
        for number, simulator in enumerate(self.simulators):
            prefix = f"{number}/"
            own = {n.removeprefix(prefix): v for n, v in arrays.items() if n.startswith(prefix)}
            scene = simulator.scene
            vertices = sum(len(mesh.at(0)) for mesh in scene.meshes)
            tets = simulator.system.plastic_flow.count
            for name, shape, kinds, what in (
                ("colliders", (vertices, 3), "f", "the colliders"),
                ("plastic", (ROWS, tets), "f", "what is plastic"),
                ("unfolding", (len(scene.bodies),), "i", "the bodies"),
            ):
                if name in own:
                    fitting(own, name, shape, kinds, what=what)
            simulator.go_on_from(simulator.state.restored(frame, own))

    def _together(self, parts: list[Frame]) -> Frame:
        if len(parts) == 1:
            return parts[0]
        return replace(
            parts[0],
            positions=self._in_order([part.positions for part in parts]),
            velocities=self._in_order([part.velocities for part in parts]),
            report=Report.of_all([part.report for part in parts]),
            fields={
                name: self._in_order([list(part.fields[name]) for part in parts])
                for name in parts[0].fields
            },
        )

    def _in_order(self, values: list[list[Tensor]]) -> list[Tensor]:
        """What the simulators have of each body, in the order of the scene."""
        found = {
            index: value
            for members, parts in zip(self._members, values, strict=True)
            for index, value in zip(members, parts, strict=True)
        }
        return [found[index] for index in range(len(found))]
