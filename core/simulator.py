# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene and an integrator in, frames out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from . import first_use
from .compiled import runs_loops
from .errors import SceneError
from .geometry.tet_mesh import TetMesh
from .integrators import XPBD, ImplicitEuler, Integrator, TimeStepper
from .integrators.implicit_stepper import ImplicitStepper
from .integrators.unfolding import Unfolding
from .minimizers.equilibrium import EXACT, StaticAccuracy, solve_static
from .potentials.plastic_flow import ROWS
from .preparation.prepared import prepare
from .releases import Grips, Releases
from .results.fields import fields_of
from .scene import checks
from .scene.scene import Scene
from .set_down import SetDown
from .state import Energies, SolverStatistics, State, fitting
from .system import System

# The number of tets from which CUDA is faster (``benchmarks/devices.py``). With fewer, launching
# its passes takes longer than compiled loops.
CUDA_LEAST_TETS = 50_000


def fastest_device(scene: Scene) -> str:
    """``cuda`` where there is one and a prepared scene is quicker on it, else ``cpu``.

    Contact of surfaces is computed on the CPU; explicit steps support it on the CPU only.
    """
    meshes = [body.mesh for body in scene.bodies]
    tets = sum(len(mesh.tets) for mesh in meshes if isinstance(mesh, TetMesh))
    is_quicker = scene.contact is None and tets >= CUDA_LEAST_TETS
    return "cuda" if is_quicker and torch.cuda.is_available() else "cpu"


def find_device(name: str) -> torch.device:
    """``cpu`` or ``cuda`` as a torch device.

    Raises:
        SceneError: when it is another, or CUDA and there is none.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise SceneError(
            "This computer has no CUDA device that torch can use; choose CPU or Automatic."
        )
    if name not in ("cpu", "cuda"):
        raise SceneError(f"The device must be auto, cpu or cuda, not {name!r}.")
    return torch.device(name)


@dataclass(frozen=True)
class Report:
    """Cost and outcome of one frame: seconds, joules, metres."""

    seconds: float
    substeps: int
    integrator: str
    solver_statistics: SolverStatistics
    energies: Energies
    minimum_volume_ratio: float
    minimum_ground_distance: float | None
    #: The most work of the frame, such as ``420 iterations``.
    most_work: str = ""
    #: Names of bodies that lie folded over themselves: made to give way, or given up.
    unfolding: tuple[str, ...] = ()
    caught: tuple[str, ...] = ()
    #: Tets that are flat or inside out.
    inverted_tets: int = 0
    #: Why it was implicit where explicit steps were meant, such as ``surfaces are close``.
    because: str = ""
    #: Names of bodies that go through themselves since they cross themselves at the start.
    crossing: tuple[str, ...] = ()
    #: Constraints that were released completely at the start of the frame, such as ``the pins of
    #: Ball``.
    let_go: tuple[str, ...] = ()
    #: Constraints that took hold again at the start of the frame.
    took_hold: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """As one flat JSON object."""
        return {
            "seconds": round(self.seconds, 6),
            "substeps": self.substeps,
            "integrator": self.integrator,
            **self.solver_statistics.record(),
            "kinetic_energy": self.energies.kinetic,
            "elastic_energy": self.energies.elastic,
            "potential_energy": self.energies.gravity,
            "ground_energy": self.energies.ground,
            "minimum_j": self.minimum_volume_ratio,
            "minimum_ground_distance": self.minimum_ground_distance,
            "most_work": self.most_work,
            "unfolding": self.unfolding,
            "caught": self.caught,
            "inverted_tets": self.inverted_tets,
            "because": self.because,
            "crossing": self.crossing,
            "let_go": self.let_go,
            **({"took_hold": self.took_hold} if self.took_hold else {}),
        }


@dataclass(frozen=True)
class Frame:
    """The bodies at one moment.

    Args:
        index: 1 for the first frame after the start.
        time: simulated since the start, in seconds.
        positions: one (N, 3) tensor a body, in metres.
        velocities: one (N, 3) tensor a body, in m/s.
        report: cost, energies and quality.
        fields: the requested results by name: one tensor a body, (M,) of its tets or (N,) of its
            vertices, as in ``RESULTS``.
    """

    index: int
    time: float
    positions: list[Tensor]
    velocities: list[Tensor]
    report: Report
    fields: Mapping[str, list[Tensor]] = field(default_factory=dict)


class Simulator:
    """Runs a scene.

    Args:
        scene: bodies whose mesh is still a surface are filled with tetrahedra first.
        integrator: implicit Euler by default.
        frame_time: seconds from one frame to the next, where the scene's time scale is 1.
        substeps: time steps a frame; None lets the integrator choose, and take more where the
            motion needs them.
        device: ``cpu``, ``cuda``, or ``auto``, which takes CUDA where that is quicker.
        dtype: ``torch.float64``, or on CUDA ``torch.float32``.
        is_prepared: whether the scene is a result of ``prepare``.
        results: names of the fields that frames have, of ``RESULTS``.

    Raises:
        SceneError: when the scene cannot be simulated, the device does not exist or does not
            compute in ``dtype``, a result cannot be had, or ``frame_time`` or ``substeps`` are not
            above 0.
        InstabilityError: when ``substeps`` are too few for the stiffness of the scene.
    """

    def __init__(
        self,
        scene: Scene,
        integrator: Integrator | None = None,
        *,
        frame_time: float = 1.0 / 24.0,
        substeps: int | None = None,
        device: str = "auto",
        dtype: torch.dtype = torch.float64,
        is_prepared: bool = False,
        results: Sequence[str] = (),
    ) -> None:
        first_use.watch()
        substeps = checks.time_steps(frame_time, substeps)
        self.scene = scene if is_prepared else prepare(scene)[0]
        self.frame_time = frame_time
        self._integrator, self._substeps = integrator or ImplicitEuler(), substeps
        self._device = find_device(fastest_device(self.scene) if device == "auto" else device)
        if dtype != torch.float64 and self._device.type == "cpu":
            raise SceneError(f"CPUs compute in torch.float64, not in {dtype}; choose cuda.")
        self._dtype, self._results = dtype, results
        self._releases = Releases(self.scene)
        self._released_names: tuple[str, ...] = ()
        self._gripped_names: tuple[str, ...] = ()
        self._is_settled = False
        released = self._releases.at_start()
        self._assemble(self._releases.scene_of(released, {}))
        start = self.system.initial_state(self.stepper.substeps)
        #: The present state.
        self.state: State = replace(start, released=released)

    def _assemble(self, scene: Scene) -> None:
        """Make all members that depend on the pins, goals, attachments and stitches of a scene."""
        self.system = System(scene, self._device, self._dtype, self.frame_time)
        self.stepper: TimeStepper = self._integrator.stepper(self.system, self._substeps)
        self._fields = fields_of(self.system, self._is_implicit, self._results)
        #: Follows the jumps of pins.
        self.set_down = SetDown(self.system)
        self._unfolding = Unfolding(self.system, not isinstance(self._integrator, XPBD))

    def go_on_from(self, state: State) -> None:
        """Go to a state that another simulator of the scene was in.

        Raises:
            JobError: if it does not fit the releases.
        """
        self._releases.check(state)
        if state.released is not None and not self._holds_as(state.released, state.grips):
            self._assemble(self._releases.scene_of(state.released, state.grips))
        self.state = state

    def restore(self, frame: int, arrays: dict[str, NDArray[Any]]) -> None:
        """Go to the state at a frame that ``state.to_arrays`` saved.

        Raises:
            JobError: when the arrays do not fit the bodies.
        """
        scene = self.scene
        vertices = sum(len(mesh.at(0)) for mesh in scene.meshes)
        for name, shape, kinds, what in (
            ("colliders", (vertices, 3), "f", "the colliders"),
            ("clocks", (2, len(scene.bodies) + len(scene.meshes)), "f", "the colliders"),
            ("plastic", (ROWS, self.system.plastic_flow.count), "f", "the plastic strain"),
            ("unfolding", (len(scene.bodies),), "i", "the bodies"),
        ):
            if name in arrays:
                fitting(arrays, name, shape, kinds, what=what)
        self.go_on_from(self.state.restored(frame, arrays))

    def _holds_as(self, mask: NDArray[np.bool_], grips: Grips) -> bool:
        """Whether the present releases and grips are these."""
        assert self.state.released is not None
        return bool((mask == self.state.released).all()) and set(grips) == set(self.state.grips)

    def _let_go(self) -> None:
        """Release the pins, goals, attachments and stitches that no longer hold when the next frame
        begins, and let others take hold."""
        state, self._released_names, self._gripped_names = self.state, (), ()
        released = self._releases.now(self.system, state)
        if released is None:
            return
        grips = self._releases.grips(state, released)
        if self._holds_as(released, grips):
            return
        assert state.released is not None
        self._released_names = self._releases.names(state.released, released)
        self._gripped_names = self._releases.names(released, state.released)
        self._assemble(self._releases.scene_of(released, grips))
        clocks = None if state.clocks is None else state.clocks.copy()
        if clocks is not None:
            # The motion of a grip begins now, whatever lagged before.
            for body in self._releases.bodies_gripped_at(state.frame):
                clocks[:, body] = 0.0, 1.0
        # Released parts may vibrate faster and touch other objects.
        substeps = max(state.substeps, self.stepper.substeps)
        self.state = replace(
            state,
            released=released,
            grips=grips,
            clocks=clocks,
            substeps=substeps,
            clearance=0.0,
            previous=None,
        )
        begin_frame(self.system, self.state)

    def run(self, frames: int) -> Iterator[Frame]:
        """Simulate ``frames`` more frames, and yield each as it is done.

        Raises:
            InstabilityError: when a frame diverges; the frames before it stand.
        """
        for _ in range(frames):
            began = time.perf_counter()
            with self._threads():
                begin_frame(self.system, self.state)
                self._let_go()
                self.state = self.set_down.begin_frame(self.state)
                self._unfolding.prepare(self.state)
                self._is_settled = False
                self.state = self._unfolding.watch(self.stepper.advance(self.state))
                self.system.check_forces(self.state)
                frame = self.frame(began)
            yield frame

    def settle(self, accuracy: StaticAccuracy = EXACT) -> Frame:
        """Go to the static equilibrium of the present state; return its frame.

        Args:
            accuracy: when it is near enough.

        Raises:
            InstabilityError: when nothing holds a body, or no equilibrium is found.
            SceneError: if there are spheres or a bouncy ground, which only explicit steps support,
                or a body starts inside out where its material is undefined.
        """
        began = time.perf_counter()
        begin_frame(self.system, self.state)
        with self._threads():
            self.state = self._unfolding.unfolded_equilibrium(
                partial(solve_static, self.system, accuracy=accuracy), self.state
            )
            self._is_settled = True
            return self.frame(began)

    def _is_implicit(self) -> bool:
        """Whether the present state was solved for."""
        return self._is_settled or isinstance(self.stepper.current, ImplicitStepper)

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Limit torch to one thread beside compiled kernels. Its work is short then, and its
        threads would only compete with theirs."""
        before = torch.get_num_threads()
        if runs_loops(self.system):
            torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    def frame(self, began: float | None = None) -> Frame:
        """Return the present state as a frame; ``began`` is when its computation did."""
        state, system = self.state, self.system
        system.go_to(state.frame, 0.0)
        volume_ratios = system.volume_ratios(state.positions)
        report = Report(
            seconds=0.0 if began is None else time.perf_counter() - began,
            substeps=state.substeps,
            integrator=self.stepper.label,
            solver_statistics=state.solver_statistics,
            energies=system.energies(state),
            minimum_volume_ratio=float(volume_ratios.min()),
            minimum_ground_distance=system.minimum_ground_distance(state.positions),
            most_work=self.stepper.most_work,
            unfolding=self._unfolding.names(state, caught=False),
            caught=self._unfolding.names(state, caught=True),
            inverted_tets=int((volume_ratios <= 0.0).sum()),
            because=state.hindrance.words,
            crossing=tuple(b.name for b in system.bodies if not (b.self_contact or b.is_sag_free)),
            let_go=self._released_names,
            took_hold=self._gripped_names,
        )
        slices = system.body_slices()
        return Frame(
            index=state.frame,
            time=system.frame_times.until(state.frame),
            positions=[state.positions[:, where].T.contiguous() for where in slices],
            velocities=[state.velocities[:, where].T.contiguous() for where in slices],
            report=report,
            fields={name: values(state) for name, values in self._fields.items()},
        )


def begin_frame(system: System, state: State) -> None:
    """Let forces take the values that stay constant through a frame from the state at its start."""
    for part in system.forces:
        part.begin_frame(state.positions, state.frame)
