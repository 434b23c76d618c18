# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that rest on something start at rest, and all others where they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.minimizers.newton_search import NewtonSearch
from supple.core.settled_start import settle_start

YOUNG, HEIGHT, DENSITY, G = 1e5, 1.0, 1000.0, 9.81


def resting(make_block, height: float = 0.0, **options) -> SoftBody:
    """A block of 1 m whose foot is so high."""
    mesh = make_block((2, 2, 2), (1.0, 1.0, HEIGHT), (0.0, 0.0, height))
    material = StableNeoHookean(YOUNG, 0.3)
    return SoftBody(mesh, material, starts_settled=True, **options)


def moved(simulator: Simulator, start: torch.Tensor) -> float:
    return float((simulator.state.positions - start).norm(dim=0).max())


@pytest.mark.parametrize("integrator", [ImplicitEuler(), SymplecticEuler()], ids=repr)
def test_a_block_that_stands_begins_as_low_as_its_weight_presses_it(make_block, integrator) -> None:
    simulator = Simulator(Scene([resting(make_block)], ground=Ground()), integrator)
    assert settle_start(simulator).settled == ("Soft body",)
    top = float(simulator.frame().positions[0][:, 2].max())
    assert HEIGHT - top == pytest.approx(0.5 * DENSITY * G / YOUNG, rel=0.35)
    start = simulator.state.positions.clone()
    assert float(simulator.state.velocities.abs().max()) == 0.0
    for _ in simulator.run(6):
        assert moved(simulator, start) < 2e-3 * HEIGHT


def test_the_block_sinks_in_the_first_frames_where_it_does_not_start_settled(make_block) -> None:
    body = replace(resting(make_block), starts_settled=False)
    simulator = Simulator(Scene([body], ground=Ground()), SymplecticEuler())
    assert settle_start(simulator).settled == ()
    start = simulator.state.positions.clone()
    *_, _ = simulator.run(6)
    assert moved(simulator, start) > 0.015 * HEIGHT


@pytest.mark.parametrize(
    "case",
    [{"height": 0.02}, {"velocity": (0.0, 0.0, 0.1)}, {"angular_velocity": (0.0, 0.0, 1.0)}],
    ids=["above", "moving", "turning"],
)
def test_a_body_that_falls_or_moves_starts_where_it_is(make_block, case) -> None:
    simulator = Simulator(Scene([resting(make_block, **case)], ground=Ground()))
    start = simulator.state
    assert settle_start(simulator).settled == ()
    assert simulator.state is start


def test_gas_would_burst_out_of_a_settled_start(make_block) -> None:
    body = resting(make_block, pressure=500.0)
    simulator = Simulator(Scene([body], ground=Ground()))
    assert settle_start(simulator).settled == ()


def test_without_gravity_nothing_rests(make_block) -> None:
    scene = Scene([resting(make_block)], ground=Ground(), gravity=(0.0, 0.0, 0.0))
    assert settle_start(Simulator(scene)).settled == ()


def test_a_body_that_would_topple_starts_where_it_is(make_block) -> None:
    column = make_block((1, 1, 6), (0.2, 0.2, 1.2))
    leaning = TetMesh(column.vertices + column.vertices[:, 2:] * [0.3, 0.0, 0.0], column.tets)
    body = SoftBody(leaning, StableNeoHookean(1e6, 0.3), name="Tower", starts_settled=True)
    simulator = Simulator(Scene([body], ground=Ground()))
    start = simulator.state.positions.clone()
    found = settle_start(simulator)
    assert (found.settled, found.unstable) == ((), ("Tower",))
    assert moved(simulator, start) == 0.0


def test_a_stack_settles_and_what_falls_beside_it_does_not(make_block) -> None:
    low, high = resting(make_block, 0.0, name="Low"), resting(make_block, 1.002, name="High")
    falling = resting(make_block, 3.0, name="Falling")
    scene = Scene([falling, high, low], ground=Ground(), contact=Contact())
    simulator = Simulator(scene)
    start = simulator.state.positions.clone()
    assert set(settle_start(simulator).settled) == {"Low", "High"}
    where = simulator.system.body_slices()
    sunk = [float((start - simulator.state.positions)[2, each].max()) for each in where]
    assert sunk[0] == 0.0
    # The lower one carries both: three times its own half weight, and the higher one sinks along.
    assert sunk[2] == pytest.approx(1.5 * DENSITY * G / YOUNG, rel=0.35)
    assert sunk[1] == pytest.approx(2.0 * DENSITY * G / YOUNG, rel=0.35)


def test_what_lies_on_a_falling_body_falls(make_block) -> None:
    bodies = [resting(make_block, 3.0), resting(make_block, 4.002)]
    scene = Scene(bodies, ground=Ground(), contact=Contact())
    assert settle_start(Simulator(scene)).settled == ()


def test_a_body_settles_on_a_mesh_but_not_beside_a_wall(make_block) -> None:
    corners = np.array([[-1.0, -1.0, 0.0], [3.0, -1.0, 0.0], [-1.0, 3.0, 0.0]])
    table = Collider(corners, [[0, 1, 2]])
    wall = Collider(corners[:, [2, 1, 0]] - [0.002, 0.0, 0.0], [[0, 1, 2]])
    for collider, expected in ((table, ("Soft body",)), (wall, ())):
        body = resting(make_block, 0.002)
        simulator = Simulator(Scene([body], colliders=[collider]))
        assert settle_start(simulator).settled == expected


def test_a_body_that_flows_apart_starts_where_it_is(make_block) -> None:
    body = resting(make_block)
    body.material = StableNeoHookean(3e3, 0.3)
    assert settle_start(Simulator(Scene([body], ground=Ground()))).unstable == ("Soft body",)


def test_a_stack_of_soft_blocks_takes_few_newton_steps(monkeypatch, make_block) -> None:
    """It ends once steps are short, not once all forces where the blocks touch have vanished."""
    steps: list[int] = []
    step = NewtonSearch.step

    def counted(search: NewtonSearch) -> str:
        steps.append(1)
        return step(search)

    monkeypatch.setattr(NewtonSearch, "step", counted)
    bodies = [
        replace(
            resting(make_block, 1.001 * level),
            material=StableNeoHookean(young, 0.45),
            name=f"Block {level}",
        )
        for level, young in enumerate((3e5, 2e5, 1e5))
    ]
    scene = Scene(bodies, ground=Ground(), contact=Contact())
    simulator = Simulator(scene, ImplicitEuler())
    reported: list[list[str]] = []
    start = settle_start(simulator, reported.append)
    assert set(start.settled) == {"Block 0", "Block 1", "Block 2"}
    assert reported == [["Block 0", "Block 1", "Block 2"]]
    assert len(steps) <= 18
    settled = simulator.state.positions.clone()
    for _ in simulator.run(6):
        assert moved(simulator, settled) < 1e-2 * HEIGHT
