# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Ground, InstabilityError, JobError, Scene, SceneError, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler, Midpoint, RungeKutta4, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.partitioned_simulator import PartitionedSimulator


def _scene(make_block, count: int = 3, **options) -> Scene:
    bodies = [
        SoftBody(
            make_block(origin=(3.0 * index, 0.0, 0.05 * (1 + index))),
            StableNeoHookean(1e4, 0.3),
            name=f"Block {index}",
            **options,
        )
        for index in range(count)
    ]
    return Scene(bodies, ground=Ground())


def _alone(scene: Scene, index: int, integrator) -> Simulator:
    return Simulator(Scene([scene.bodies[index]], scene.ground, scene.gravity), integrator)


def test_each_body_moves_as_it_does_alone_with_its_integrator(make_block) -> None:
    scene = _scene(make_block)
    integrators = [ImplicitEuler(), SymplecticEuler(), RungeKutta4()]
    *_, together = PartitionedSimulator(scene, integrators).run(8)
    for index, integrator in enumerate(integrators):
        *_, alone = _alone(scene, index, integrator).run(8)
        assert torch.equal(together.positions[index], alone.positions[0])
        assert torch.equal(together.velocities[index], alone.velocities[0])


def test_bodies_that_share_an_integrator_share_a_simulator_and_keep_their_places(make_block):
    scene = _scene(make_block)
    simulator = PartitionedSimulator(scene, [RungeKutta4(), SymplecticEuler(), RungeKutta4()])
    assert len(simulator.simulators) == 2
    for body, positions in zip(scene.bodies, simulator.frame().positions, strict=True):
        torch.testing.assert_close(positions, torch.as_tensor(body.mesh.vertices))


def test_the_report_is_that_of_all(make_block) -> None:
    scene = _scene(make_block)
    integrators = [ImplicitEuler(), SymplecticEuler(), RungeKutta4()]
    *_, together = PartitionedSimulator(scene, integrators).run(6)
    reports = []
    for index, integrator in enumerate(integrators):
        *_, alone = _alone(scene, index, integrator).run(6)
        reports.append(alone.report)
    report = together.report
    assert report.integrator == "Implicit Euler, Symplectic Euler, Runge–Kutta 4"
    assert report.energies.total == pytest.approx(sum(r.energies.total for r in reports))
    assert report.minimum_volume_ratio == min(r.minimum_volume_ratio for r in reports)
    distances = [r.minimum_ground_distance or 0.0 for r in reports]
    assert report.minimum_ground_distance == min(distances)
    assert report.solver_statistics.iterations == reports[0].solver_statistics.iterations
    assert report.substeps == max(r.substeps for r in reports)


def test_it_goes_on_from_what_it_saved_to_the_same_bits(make_block) -> None:
    scene = _scene(make_block)
    integrators = [ImplicitEuler(), SymplecticEuler(), ImplicitEuler()]
    whole = PartitionedSimulator(scene, integrators)
    list(whole.run(3))
    saved = whole.to_arrays()
    *_, expected = whole.run(3)
    resumed = PartitionedSimulator(scene, integrators)
    resumed.restore(3, saved)
    assert resumed.index == 3
    *_, found = resumed.run(3)
    for one, other in zip(found.positions, expected.positions, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("positions", np.zeros((3, 3)), "the scene"),
        ("velocities", None, "the scene"),
        ("substeps", np.array(0), "the scene"),
        ("waits", np.array([99, 1]), "the scene"),
        ("waits", np.array([0.5, 1.0]), "the scene"),
        ("effort", np.array([3]), "the scene"),
        ("room", np.array(["far"]), "the scene"),
        ("unfolding", np.zeros(2, dtype=int), "the bodies"),
        ("unfolding", np.zeros(3), "the bodies"),
        ("colliders", np.zeros((1, 3)), "the colliders"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(make_block, name, value, what) -> None:
    simulator = PartitionedSimulator(_scene(make_block), [ImplicitEuler()] * 3)
    saved = simulator.to_arrays() | {f"0/{name}": value}
    with pytest.raises(JobError, match=f"checkpoint does not fit {what}; simulate again"):
        simulator.restore(0, {key: array for key, array in saved.items() if array is not None})


def test_a_body_that_explodes_ends_the_run_and_is_named(make_block) -> None:
    scene = _scene(make_block, 2)
    scene.bodies[1].material = StableNeoHookean(1e8, 0.3)
    with pytest.raises(InstabilityError, match=r"^Block 1: "):
        PartitionedSimulator(scene, [ImplicitEuler(), Midpoint()], substeps=4)


def test_an_integrator_a_body_is_wanted(make_block) -> None:
    with pytest.raises(SceneError, match="3 bodies, but 1 integrators"):
        PartitionedSimulator(_scene(make_block), [ImplicitEuler()])
