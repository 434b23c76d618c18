# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from supple.core import Ground, Scene, Simulator, SoftBody, TetMesh, tetrahedralize
from supple.core.assembly.block_matrix import BlockMatrix
from supple.core.integrators import ImplicitEuler
from supple.core.linear_solvers.conjugate_gradients import Solution
from supple.core.linear_solvers.linear_solver import LinearSolver
from supple.core.materials import Material, NeoHookean, StableNeoHookean
from supple.core.minimizers.incremental_potential import IncrementalPotential
from supple.core.minimizers.lagged_update import LAG_CHANGE_RATIO, LaggedUpdate
from supple.core.minimizers.minimize_result import CONVERGED, ENOUGH, OBSTRUCTED, MinimizeResult
from supple.core.minimizers.newton import STICK_DRIFT_RATIO, Newton
from supple.core.minimizers.newton_search import NewtonSearch
from supple.core.minimizers.search_path import SearchPath
from supple.core.potentials import TimeStep
from supple.core.state import SolverStatistics
from supple.core.system import System
from supple.verification.meshes import block

STEP = 1.0 / 24.0
TIGHT = 1e-13
EXACT = 1e-10
TOLERANCE = 1e-3 * STEP
CPU = torch.device("cpu")
SLIPPERY, ROUGH = Ground(distance=0.01, friction=0.0), Ground(distance=0.01, friction=0.5)

MakeBlock = Callable[..., TetMesh]


class Problem:
    """A step of a block that starts at rest but deformed, or falls askew on a ground."""

    def __init__(
        self,
        make_block: MakeBlock,
        stretch: tuple[float, float, float] = (1.3, 1.0, 1.0),
        material: Material | None = None,
        ground: Ground | None = None,
        forcing: float = EXACT,
    ) -> None:
        body = SoftBody(make_block(), material or StableNeoHookean(1e5, 0.4), pinned=[26])
        system = System(Scene([body], ground=ground), CPU, torch.float64)
        self.objective = IncrementalPotential(system)
        self.newton = Newton(self.objective, forcing)
        self.start = system.rest_positions() * torch.tensor(stretch, dtype=torch.float64)[:, None]
        self._predicted = self.start
        if ground is not None:
            self.start[2] += 0.02
            way = torch.tensor([[0.05], [0.0], [-0.05]], dtype=torch.float64)
            self._predicted = self.start + way * system.free
        self._begin()

    def _begin(self) -> None:
        self.objective.begin(TimeStep(self.start, self._predicted, STEP, STEP))

    def press(self, push: float) -> None:
        """Lays it down where the ground acts, and pushes it to the side by so many metres."""
        self.start[2] -= 0.011
        way = torch.tensor([[push], [0.0], [-1e-3]], dtype=torch.float64)
        self._predicted = self.start + way * self.objective.system.free

    def minimize(self, tolerance: float = TOLERANCE, limit: int = 60) -> MinimizeResult:
        self._begin()
        self.newton.begin()
        return self.newton.minimize(self.start, tolerance, STEP, limit)

    def energy(self, positions: torch.Tensor) -> float:
        return self.objective.energy(positions)[0]

    def largest_force(self, positions: torch.Tensor) -> float:
        return float(self.objective.gradient(positions).abs().max())


@pytest.mark.parametrize("ground", [None, SLIPPERY], ids=["free", "ground"])
@pytest.mark.parametrize("model", [StableNeoHookean, NeoHookean])
def test_at_the_minimum_there_is_no_force(make_block, model, ground: Ground | None) -> None:
    problem = Problem(make_block, material=model(1e5, 0.4), ground=ground)
    minimum = problem.minimize(1e-10)
    assert minimum.converged and minimum.termination_reason == CONVERGED
    assert problem.largest_force(minimum.positions) < 1e-6 * problem.largest_force(problem.start)
    assert problem.energy(minimum.positions) < problem.energy(problem.start)


def test_no_position_nearby_has_less_energy(make_block) -> None:
    problem = Problem(make_block, ground=SLIPPERY)
    found = problem.minimize(1e-10).positions
    random = torch.Generator().manual_seed(61)
    for size in (1e-2, 1e-4):
        for _ in range(5):
            noise = size * torch.randn(found.shape, generator=random, dtype=torch.float64)
            near = found + noise * problem.objective.system.free
            assert problem.energy(near) > problem.energy(found)


def _errors(problem: Problem) -> list[float]:
    """Farthest vertex from the minimum after each Newton step."""
    end = problem.minimize(TIGHT).positions
    iterates = [problem.minimize(TIGHT, limit).positions for limit in range(1, 10)]
    return [float((iterate - end).abs().max()) for iterate in iterates]


def test_near_the_minimum_the_error_squares_with_each_step(make_block) -> None:
    errors = [error for error in _errors(Problem(make_block)) if 1e-10 < error < 0.1]
    assert len(errors) >= 3
    squares = [after / before**2 for before, after in pairwise(errors)]
    assert max(squares) < 10.0


def test_inexact_steps_take_a_tenth_of_the_error_each(make_block) -> None:
    errors = [error for error in _errors(Problem(make_block, forcing=0.1)) if error > 1e-12]
    assert len(errors) >= 3
    assert all(after < 0.1 * before for before, after in pairwise(errors[1:]))


@pytest.mark.parametrize("stretch", [(0.3, 1.0, 1.0), (0.2, 0.2, 3.0), (-0.5, 1.0, 1.0)])
def test_from_an_indefinite_start_it_descends_to_a_minimum(make_block, stretch) -> None:
    problem = Problem(make_block, stretch, StableNeoHookean(1e6, 0.4))
    assert _lowest_curvature(problem, problem.start) < 0.0
    minimum = problem.minimize(1e-10)
    assert minimum.converged
    assert problem.largest_force(minimum.positions) < 1e-8 * problem.largest_force(problem.start)
    assert _lowest_curvature(problem, minimum.positions) > 0.0


def _lowest_curvature(problem: Problem, positions: torch.Tensor) -> float:
    """The lowest eigenvalue of the energy's second derivative, by differences of its gradient."""
    free, h = problem.objective.system.free.nonzero().flatten(), 1e-7
    columns = []
    for vertex in free:
        for axis in range(3):
            change = torch.zeros_like(positions)
            change[axis, vertex] = h
            rise = problem.objective.gradient(positions + change)
            rise -= problem.objective.gradient(positions - change)
            columns.append(rise[:, free].flatten() / (2.0 * h))
    order = torch.arange(3 * len(free)).view(3, -1).T.flatten()
    hessian = torch.stack(columns)[:, order]
    return float(torch.linalg.eigvalsh(0.5 * (hessian + hessian.T))[0])


def test_energy_falls_with_every_step(make_block) -> None:
    problem = Problem(make_block, (0.2, 0.2, 3.0), StableNeoHookean(1e6, 0.4), forcing=0.1)
    energies = [problem.energy(problem.start)]
    energies += [problem.energy(problem.minimize(1e-10, n).positions) for n in range(1, 8)]
    assert all(after < before for before, after in pairwise(energies))


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-7])
def test_it_converges_when_a_step_is_within_tolerance(make_block, tolerance: float) -> None:
    problem = Problem(make_block, ground=SLIPPERY, forcing=0.1)
    minimum = problem.minimize(tolerance)
    assert minimum.converged
    assert minimum.step_norm <= tolerance
    reference = problem.minimize(1e-12).positions
    assert float((minimum.positions - reference).abs().max()) < 2.0 * tolerance


def test_too_few_iterations_are_reported_as_such(make_block) -> None:
    minimum = Problem(make_block).minimize(1e-10, limit=2)
    assert not minimum.converged
    assert minimum.termination_reason == "not converged after 2 iterations"
    assert minimum.iterations == 2
    assert minimum.step_norm > 1e-10


def test_the_last_move_is_that_of_the_vertex_that_moved_most(make_block) -> None:
    problem = Problem(make_block)
    before, after = (problem.minimize(TIGHT, limit) for limit in (3, 4))
    moved = (after.positions - before.positions).norm(dim=0).max()
    assert after.step_norm == pytest.approx(float(moved), rel=1e-6)


def test_an_infinite_energy_is_not_taken_for_a_minimum(make_block) -> None:
    problem = Problem(make_block, (-1.0, 1.0, 1.0), NeoHookean(1e5, 0.4))
    minimum = problem.minimize()
    assert not minimum.converged
    assert minimum.termination_reason == "the energy has no finite derivative"
    assert minimum.step_norm == float("inf")
    assert torch.equal(minimum.positions, problem.start)


def test_a_hessian_without_numbers_is_not_taken_for_a_minimum(make_block, monkeypatch) -> None:
    problem = Problem(make_block)
    hessian = problem.objective.hessian

    def without_numbers(*args: Any) -> BlockMatrix:
        matrix = hessian(*args)
        matrix.values[0, 0] = math.nan
        return matrix

    monkeypatch.setattr(problem.objective, "hessian", without_numbers)
    minimum = problem.minimize()
    assert not minimum.converged
    assert torch.equal(minimum.positions, problem.start)


def test_a_search_that_no_hessian_leads_on_ends_and_says_why(make_block, monkeypatch) -> None:
    problem = Problem(make_block)
    energy, start = problem.objective.energy, problem.start

    def hidden(positions: torch.Tensor) -> tuple[float, float]:
        """As where rounding hides every descent."""
        value, size = energy(positions)
        return (value, size) if torch.equal(positions, start) else (math.inf, size)

    monkeypatch.setattr(problem.objective, "energy", hidden)
    minimum = problem.minimize()
    assert minimum.termination_reason == "rounding hides the descent"
    assert minimum.iterations == 0
    assert torch.equal(minimum.positions, start)


def test_where_paths_along_the_ground_lead_nowhere_the_next_are_straight(
    make_block, monkeypatch
) -> None:
    problem = Problem(make_block, ground=SLIPPERY)
    paths, curve, kinds = problem.objective.paths, problem.objective.paths.curve, []

    def uphill(positions: torch.Tensor, direction: torch.Tensor) -> Any:
        kinds.append(paths.follows_ground)
        return curve(positions, -direction if paths.follows_ground else direction)

    monkeypatch.setattr(paths, "curve", uphill)
    minimum = problem.minimize()
    assert minimum.converged
    assert kinds[0] and not any(kinds[1:])
    # Each search begins along the ground.
    assert problem.minimize().positions.equal(minimum.positions)


def test_what_an_indefinite_hessian_answers_is_no_step(make_block, monkeypatch) -> None:
    problem = Problem(make_block, (0.2, 0.2, 3.0), StableNeoHookean(1e6, 0.4), forcing=0.1)
    solver, find, ends = problem.newton._solver, problem.objective.paths.find, []

    def solve(*args: Any) -> Solution:
        solution = LinearSolver.solve(solver, *args)
        ends.append(solution.end)
        return solution

    def gone(*args: Any) -> SearchPath:
        assert ends[-1] != "indefinite"
        return find(*args)

    monkeypatch.setattr(solver, "solve", solve)
    monkeypatch.setattr(problem.objective.paths, "find", gone)
    assert problem.minimize(1e-10).converged
    assert "indefinite" in ends


def test_friction_ends_with_the_normal_forces_of_the_minimum(make_block) -> None:
    problem = Problem(make_block, ground=ROUGH, forcing=0.1)
    minimum = problem.minimize()
    assert minimum.converged
    held = problem.objective.gradient(minimum.positions)
    assert problem.objective.update_lagged(minimum.positions) <= LAG_CHANGE_RATIO
    barrier = problem.objective.system.ground_barrier
    pushed = float(barrier.normal_force(minimum.positions).sum())
    assert pushed > 0.0
    assert float(held.abs().max()) < LAG_CHANGE_RATIO * pushed


def test_normal_forces_of_friction_are_taken_until_the_end_is_near(make_block) -> None:
    problem = Problem(make_block, ground=ROUGH, forcing=0.1)
    minimum = problem.minimize(1e-9)
    assert minimum.converged
    assert problem.objective.update_lagged(minimum.positions) < 1e-3 * LAG_CHANGE_RATIO


def test_normal_forces_that_go_to_and_fro_go_a_smaller_part_of_the_way(
    make_block, monkeypatch
) -> None:
    problem = Problem(make_block, ground=ROUGH, forcing=0.1)
    changes, shares = [1.0, 0.9, 0.5, 0.4, 0.1, 0.0], []

    def lag(positions: torch.Tensor, share: float, settled: bool) -> float:
        shares.append(share)
        return changes[len(shares) - 1] if len(shares) < len(changes) else 0.0

    monkeypatch.setattr(problem.objective, "update_lagged", lag)
    assert problem.minimize(1e-10).converged
    assert shares[:6] == [1.0, 1.0, 0.5, 1.0, 0.5, 1.0]


@pytest.mark.parametrize(("change", "ends"), [(0.9 * LAG_CHANGE_RATIO, True), (0.5, False)])
def test_normal_forces_that_never_settle_are_left_once_they_change_little(change, ends) -> None:
    objective = SimpleNamespace(update_lagged=lambda *_: change, contact=object())
    lagged = LaggedUpdate(objective, 1e-6, 1.0, is_due=True, is_exact=False)
    for _ in range(6):
        lagged.apply(torch.zeros(3, 1), step_norm=1.0)
    assert lagged.is_due != ends


@pytest.mark.parametrize("push", [1e-4, 2e-3, 1e-2])
def test_it_ends_when_what_sticks_has_come_to_rest_however_loose_the_tolerance(
    make_block, push: float
) -> None:
    """A slip is far shorter than the tolerance: a tenth of it is what may be left."""
    problem = Problem(make_block, (1.0, 1.0, 1.0), ground=ROUGH, forcing=0.1)
    problem.press(push)
    minimum = problem.minimize(1e-2 * STEP)
    assert minimum.converged
    before = problem.minimize(1e-2 * STEP, minimum.iterations - 1).positions
    after = problem.minimize(1e-2 * STEP).positions
    assert problem.objective.stick_drift(before, after) <= STICK_DRIFT_RATIO


def test_pinned_vertices_stay_where_they_are(make_block) -> None:
    problem = Problem(make_block, ground=ROUGH)
    minimum = problem.minimize()
    assert torch.equal(minimum.positions[:, 26], problem.start[:, 26])


def test_a_search_does_not_depend_on_those_before_it(make_block) -> None:
    problem = Problem(make_block, ground=ROUGH)
    first = problem.minimize()
    assert torch.equal(first.positions, problem.minimize().positions)


def test_the_account_of_a_frame_adds_its_steps_and_keeps_the_worst() -> None:
    positions = torch.zeros(3, 1, dtype=torch.float64)
    good = MinimizeResult(positions, 3, 10, 0, 1e-4, CONVERGED)
    bad = MinimizeResult(positions, 7, 20, 1, 1.0, "no")
    statistics = SolverStatistics()
    for minimum in (good, bad, good):
        statistics = minimum.added_to(statistics, 0.1)
    assert statistics == SolverStatistics(13, 40, 1, False, 10.0, "no")
    assert good.added_to(SolverStatistics(), 0.1) == SolverStatistics(
        3, 10, 0, True, pytest.approx(1e-3), CONVERGED
    )


def test_a_search_ends_where_it_is_near_enough(make_block) -> None:
    problem = Problem(make_block, (1.5, 0.8, 1.2))
    whole = problem.minimize(1e-10)
    problem.newton.begin()
    enough = 1e-3 * problem.largest_force(problem.start)
    forces: list[float] = []

    def is_enough(search: NewtonSearch) -> bool:
        assert torch.equal(search.gradient, problem.objective.gradient(search.positions))
        forces.append(float(search.gradient.abs().max()))
        return forces[-1] <= enough

    found = problem.newton.minimize(problem.start, 1e-10, STEP, 60, is_enough=is_enough)
    assert found.termination_reason == ENOUGH
    assert not found.converged
    assert len(forces) == found.iterations < whole.iterations
    assert max(forces[-1:]) <= enough < min(forces[:-1])


def test_a_search_goes_on_with_the_solver_of_the_one_before_until_it_begins_anew(
    make_block,
) -> None:
    problem = Problem(make_block)
    problem.newton._solver._is_direct = True
    problem._begin()
    went_on = problem.newton.minimize(problem.start, 1e-10, STEP, 60)
    assert went_on.linear_iterations == 0
    assert went_on.factorizations > 0
    assert problem.minimize(1e-10).linear_iterations > 0


def _change_paths(
    problem: Problem,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[int, SearchPath], SearchPath],
) -> None:
    """Changes the paths of searches, by their number."""
    find, number = problem.objective.paths.find, count()

    def changed(*args: Any) -> SearchPath:
        return change(next(number), find(*args))

    monkeypatch.setattr(problem.objective.paths, "find", changed)


def _observed(problem: Problem, observe: Callable[[NewtonSearch], Any]) -> list[Any]:
    """Return what is seen of a search after each of its steps but the last."""
    seen = []

    def is_enough(search: NewtonSearch) -> bool:
        seen.append(observe(search))
        return False

    problem._begin()
    problem.newton.begin()
    problem.newton.minimize(problem.start, 1e-10, STEP, 60, is_enough=is_enough)
    return seen


def test_a_short_path_that_is_taken_whole_is_no_failed_search(make_block, monkeypatch) -> None:
    problem = Problem(make_block, (1.5, 0.8, 1.2))
    _change_paths(
        problem,
        monkeypatch,
        lambda number, path: replace(path, max_step_size=0.05) if number in (1, 3) else path,
    )
    paths = problem.objective.paths
    seen = _observed(problem, lambda search: (search.projects, paths.follows_ground))
    # A cut step is followed by one with a projected Hessian, and that by one without.
    assert [projects for projects, _ in seen[:5]] == [False, True, False, True, False]
    assert all(follows_ground for _, follows_ground in seen)


def test_each_step_that_leads_astray_is_followed_by_more_projected_ones(
    make_block, monkeypatch
) -> None:
    problem = Problem(make_block, (1.5, 0.8, 1.2))
    search_line, number = NewtonSearch._search_line, count()

    def cut(search: NewtonSearch, path: SearchPath) -> float:
        if next(number) in (1, 3):
            return search_line(search, replace(path, max_step_size=0.05)) and 0.05
        return search_line(search, path)

    monkeypatch.setattr(NewtonSearch, "_search_line", cut)
    seen = _observed(problem, lambda search: search.projects)
    assert seen[:6] == [False, True, False, True, True, False]


@pytest.mark.parametrize(
    ("obstructed", "reason"), [({0, 2, 4, 6}, CONVERGED), ({1, 2}, OBSTRUCTED)]
)
def test_a_search_is_obstructed_where_two_steps_in_a_row_are(
    make_block, monkeypatch, obstructed: set[int], reason: str
) -> None:
    problem = Problem(make_block)
    _change_paths(
        problem,
        monkeypatch,
        lambda number, path: replace(path, is_obstructed=number in obstructed),
    )
    monkeypatch.setattr(problem.objective, "gains_little", lambda *_: True)
    problem._begin()
    monkeypatch.setattr(problem.objective, "rigid_drift", lambda *_: 0.0)
    problem.newton.begin()
    found = problem.newton.minimize(problem.start, 1e-10, STEP, 60, is_exact=False)
    assert found.termination_reason == reason
    assert reason == CONVERGED or found.iterations == max(obstructed) + 1


def test_a_search_goes_on_in_energies_that_change_on_the_way(make_block, monkeypatch) -> None:
    problem = Problem(make_block)
    energy, raised = problem.objective.energy, count()
    value, _ = energy(problem.start)
    added = [0.0]

    def adapt(positions: torch.Tensor) -> bool:
        added[0] = 10.0 * value
        return next(raised) == 0

    def shifted(positions: torch.Tensor) -> tuple[float, float]:
        value, size = energy(positions)
        return value + added[0], size + added[0]

    monkeypatch.setattr(problem.objective, "after_iteration", adapt)
    monkeypatch.setattr(problem.objective, "energy", shifted)
    found = problem.minimize(1e-6)
    assert found.converged
    monkeypatch.undo()
    assert float((found.positions - problem.minimize(1e-6).positions).abs().max()) < 1e-9


def test_the_length_of_a_whole_step_is_known(make_block) -> None:
    seen = _observed(
        Problem(make_block), lambda search: (search.whole_step_norm, search.result("").step_norm)
    )
    assert len(seen) > 2
    assert all(whole == step for whole, step in seen)


def test_light_corners_that_slide_do_not_hold_up_a_landing() -> None:
    """Corners of partly filled tets hold to little more than to the ground; with the slope of
    sliding friction alone they went to and fro, in up to 34 Newton steps."""
    cube = block((4, 4, 4))
    used, triangles = np.unique(cube.surface, return_inverse=True)
    triangles = triangles.reshape(-1, 3).astype(np.int32)
    filled = tetrahedralize(cube.vertices[used], triangles, edge_length=0.3)
    for seed in (0, 1, 2):
        turned = (filled.vertices - 0.5) @ Rotation.random(random_state=seed).as_matrix().T
        turned[:, 2] += 0.05 - turned[:, 2].min()
        mesh = TetMesh(turned, filled.tets, filled.fill)
        body = SoftBody(mesh, StableNeoHookean(1e5, 0.45), velocity=(2.0, 0.0, -3.0))
        frames = Simulator(Scene([body], ground=Ground()), ImplicitEuler()).run(16)
        iterations = [frame.report.solver_statistics.iterations for frame in frames]
        assert max(iterations) <= 18
        assert sum(iterations) <= 120
