# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a simulation that is passed from frame to frame."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .errors import JobError

# The names of saved previous positions and velocities, for methods that need them.
PREVIOUS_KEYS = ("positions_before", "velocities_before")
_MISFIT = "The checkpoint does not fit {}. Simulate again."


@dataclass(frozen=True)
class SolverStatistics:
    """Statistics of an implicit frame; explicit ones keep the defaults.

    Args:
        iterations: Newton steps, in all time steps.
        linear_iterations: of the linear solver, in all.
        factorizations: of the direct solver, where conjugate gradients ran away.
        converged: whether every time step reached the tolerance.
        residual_speed: of the fastest vertex in the last Newton step, in m/s.
        termination_reason: of the search, in words.
        contacts: pairs of surface parts that are close, at the end.
        minimum_distance: the least distance of those, in metres; None where nothing is close.
        limited_steps: of all searches, those cut because something would have collided.
        blocked: prescribed motion that ended because nothing could make way, in words.
        steps: taken in the frame, with those that were taken in parts; 0 of explicit ones.
        too_fast: messages on objects that approached each other by more than a step allows.
        lost_energy: the energy lost in implicit steps beyond damping, in joules, for undriven
            bodies without contact.
        linearizations: the number of linearizations of contacts in explicit steps.
        truncated_vertices: the most that surfaces kept from making their whole move, in a step.
        lag: the largest distance of animated objects behind their targets at the end, in metres.
    """

    iterations: int = 0
    linear_iterations: int = 0
    factorizations: int = 0
    converged: bool = True
    residual_speed: float | None = None
    termination_reason: str = ""
    contacts: int = 0
    minimum_distance: float | None = None
    limited_steps: int = 0
    blocked: tuple[str, ...] = ()
    steps: int = 0
    too_fast: tuple[str, ...] = ()
    lost_energy: float = 0.0
    linearizations: int = 0
    truncated_vertices: int = 0
    lag: float = 0.0

    def record(self) -> dict[str, Any]:
        """As members of a log record."""
        return asdict(self)


class FallbackReason(IntEnum):
    """Why a frame was implicit where *Automatic* meant to take explicit steps."""

    NONE = 0
    CONTACT = 1
    FLAT = 2
    UNSTABLE = 3

    @property
    def words(self) -> str:
        """Return the reason in words, such as ``surfaces are close``."""
        return _REASONS_IN_WORDS[self]


_REASONS_IN_WORDS = {
    FallbackReason.NONE: "",
    FallbackReason.CONTACT: "surfaces are close",
    FallbackReason.FLAT: "explicit steps press tets flat",
    FallbackReason.UNSTABLE: "explicit steps diverge",
}


@dataclass(frozen=True)
class State:
    """Positions, velocities and further state of a scene between frames.

    Args:
        positions, velocities: (3, N), component first, in metres and m/s.
        frame: 0 at the start.
        substeps: time steps a frame.
        previous: positions and velocities one step earlier, for methods that look back so far.
        step_seconds: of that step.
        solver_statistics: the statistics of the frame.
        colliders: (C, 3) vertices of mesh colliders, where they have got to; None at the start.
        clocks: (2, O) lags in frames of animated bodies and then of colliders, and their rates;
            None where all is where it should be.
        unfolding: (B,) of each body, for how many frames it has been made to give way because it
            came to rest folded, −1 where that was in vain; None where nothing is folded.
        gave_up: whether *Automatic* has switched to implicit steps for good.
        hindrance: why the frame was implicit where *Automatic* meant it not to be.
        impact_seconds, impact_step: the remaining time of short steps after an impact, and their
            length, in seconds.
        energy_limit: the most energy in joules that nothing can raise before surfaces touch again;
            None where that is not known.
        clearance: the distance by which every body may still approach itself freely, in metres; 0
            if unknown.
        plastic: (10, P) plastic strains in the order of ``PlasticFlow``; None without any.
        released: (H,) mask of released constraints in the order of ``Releases``; None where
            nothing may.
        grips: (3, N) positions at each frame at which a constraint that holds has taken hold
            again.
    """

    positions: Tensor
    velocities: Tensor
    frame: int
    substeps: int
    previous: tuple[Tensor, Tensor] | None = None
    step_seconds: float = 0.0
    solver_statistics: SolverStatistics = SolverStatistics()
    colliders: NDArray[np.float64] | None = None
    clocks: NDArray[np.float64] | None = None
    unfolding: NDArray[np.int64] | None = None
    gave_up: bool = False
    hindrance: FallbackReason = FallbackReason.NONE
    impact_seconds: float = 0.0
    impact_step: float = 0.0
    energy_limit: float | None = None
    clearance: float = 0.0
    plastic: Tensor | None = None
    released: NDArray[np.bool_] | None = None
    grips: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {
            "positions": self.positions.cpu().numpy(),
            "velocities": self.velocities.cpu().numpy(),
            "substeps": np.array(self.substeps),
        }
        if self.previous is not None:
            for name, values in zip(PREVIOUS_KEYS, self.previous, strict=True):
                arrays[name] = values.cpu().numpy()
            arrays["step_seconds"] = np.array(self.step_seconds)
        if self.colliders is not None:
            arrays["colliders"] = self.colliders
        if self.clocks is not None:
            arrays["clocks"] = self.clocks
        if self.unfolding is not None:
            arrays["unfolding"] = self.unfolding
        if self.gave_up:
            arrays["gave_up"] = np.array(True)
        if self.impact_seconds:
            arrays["impact"] = np.array([self.impact_seconds, self.impact_step])
        if self.energy_limit is not None:
            arrays["energy_limit"] = np.array(self.energy_limit)
        if self.clearance:
            arrays["room"] = np.array(self.clearance)
        if self.plastic is not None:
            arrays["plastic"] = self.plastic.cpu().numpy()
        if self.released is not None:
            arrays["released"] = self.released
        if self.grips:
            arrays["grip_frames"] = np.array(list(self.grips))
            arrays["grip_positions"] = np.stack(list(self.grips.values()))
        return arrays

    def restored(self, frame: int, arrays: dict[str, NDArray[Any]]) -> State:
        """The state that ``to_arrays`` saved, on this state's device.

        Raises:
            JobError: when the arrays do not fit this scene.
        """
        shape = tuple(self.positions.shape)
        names = ["positions", "velocities", *(name for name in PREVIOUS_KEYS if name in arrays)]
        positions, velocities, *before = (
            torch.as_tensor(fitting(arrays, name, shape, "f")).to(self.positions) for name in names
        )
        earlier = (before[0], before[1]) if len(before) == len(PREVIOUS_KEYS) else None
        plastic = arrays.get("plastic")
        steps = fitting(arrays, "substeps", (), "iu")
        impact_seconds, impact_step = fitting(arrays, "impact", (2,), "f", (0.0, 0.0)).tolist()
        limit = fitting(arrays, "energy_limit", (), "f", math.nan)
        frames = arrays.get("grip_frames", np.zeros(0, dtype=np.int64))
        no_grips = np.zeros((0, *shape))
        gripped = fitting(arrays, "grip_positions", (len(frames), *shape), "f", no_grips)
        if steps < 1:
            raise JobError(_MISFIT.format("the scene"))
        return State(
            positions,
            velocities,
            frame,
            int(steps),
            earlier,
            float(fitting(arrays, "step_seconds", (), "f", 0.0)),
            colliders=arrays.get("colliders"),
            clocks=arrays.get("clocks"),
            unfolding=arrays.get("unfolding"),
            gave_up="gave_up" in arrays,
            impact_seconds=impact_seconds,
            impact_step=impact_step,
            energy_limit=None if np.isnan(limit) else float(limit),
            clearance=float(fitting(arrays, "room", (), "f", 0.0)),
            plastic=None if plastic is None else torch.as_tensor(plastic).to(self.positions),
            released=arrays.get("released"),
            grips=dict(zip(frames.tolist(), gripped, strict=True)),
        )


def fitting(
    arrays: dict[str, NDArray[Any]],
    name: str,
    shape: tuple[int, ...],
    kinds: str,
    otherwise: object = None,
    what: str = "the scene",
) -> NDArray[Any]:
    """An array of a checkpoint.

    Args:
        kinds: of numbers, as numpy's dtypes call them.
        otherwise: the value without an array; None is an error.
        what: the part of the scene that it has to fit.

    Raises:
        JobError: when it is of another shape or kind.
    """
    array = arrays.get(name)
    if array is None and otherwise is not None:
        array = np.array(otherwise)
    if array is None or array.shape != shape or array.dtype.kind not in kinds:
        raise JobError(_MISFIT.format(what))
    return array


@dataclass(frozen=True)
class Energies:
    """In joules; the kinetic energy is that of the vertices that are not pinned.

    The barrier between surfaces and attachments are left out: only implicit steps have these
    energies, and totals are compared between integrators.
    """

    kinetic: float
    elastic: float
    gravity: float
    ground: float
    forces: float = 0.0

    @property
    def external(self) -> float:
        """Return the energy of gravity and forces, in joules."""
        return self.gravity + self.forces

    @property
    def total(self) -> float:
        return self.kinetic + self.elastic + self.gravity + self.ground + self.forces
