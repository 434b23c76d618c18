# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Ground, Plasticity, Scene, SceneError, Simulator, SoftBody
from supple.core.materials import NeoHookean, StVenantKirchhoff
from supple.core.results import RESULTS
from supple.core.results.fields import fields_of, largest_eigenvalue
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.verification.meshes import block, irregular_block

WEIGHTLESS = (0.0, 0.0, 0.0)


def three_bodies() -> Scene:
    """Bodies of two models, so that tets are not computed in the order of the bodies."""
    bodies = []
    for place, model in enumerate((StVenantKirchhoff, NeoHookean, StVenantKirchhoff)):
        mesh = block((1 + place, 1, 1), origin=(3.0 * place, 0.0, 0.0))
        stretched = mesh.vertices * np.array([1.0, 1.1 + 0.1 * place, 0.9])
        velocity = (3.0 * place, 4.0 * place, 0.0)
        bodies.append(
            SoftBody(mesh, model(1e4, 0.3), initial_positions=stretched, velocity=velocity)
        )
    return Scene(bodies, gravity=WEIGHTLESS)


def check_three(fields) -> None:
    for place in range(3):
        stretch, speed = fields["stretch"][place], fields["speed"][place]
        assert stretch.shape == (6 * (1 + place),)
        np.testing.assert_allclose(stretch.numpy(), 1.1 + 0.1 * place, rtol=1e-12)
        assert speed.shape == (4 * (2 + place),)
        np.testing.assert_allclose(speed.numpy(), 5.0 * place, rtol=1e-12)


def test_every_body_has_its_own_values_whatever_its_material() -> None:
    check_three(Simulator(three_bodies(), results=("stretch", "speed")).frame().fields)


def test_the_stretch_is_the_largest_singular_value() -> None:
    random = np.random.default_rng(3)
    mesh = irregular_block()
    deformed = mesh.vertices + 0.1 * random.normal(size=mesh.vertices.shape)
    body = SoftBody(mesh, StVenantKirchhoff(1e4, 0.3), initial_positions=deformed)
    found = Simulator(Scene([body]), results=("stretch",)).frame().fields["stretch"][0]
    edges = (own[mesh.tets[:, 1:]] - own[mesh.tets[:, :1]] for own in (mesh.vertices, deformed))
    rest, now = (np.swapaxes(own, 1, 2) for own in edges)
    expected = np.linalg.svd(now @ np.linalg.inv(rest), compute_uv=False)[:, 0]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("values", [(1, 1, 1), (2, 2, 1), (2, 1, 1), (0, 0, 0), (3, 0, 0)])
def test_eigenvalues_that_are_alike_are_found(values) -> None:
    random = torch.randn(5, 3, 3, generator=torch.Generator().manual_seed(1)).double()
    turned, _ = torch.linalg.qr(random)
    matrices = turned @ torch.diag(torch.tensor(values).double()) @ turned.mT
    found = largest_eigenvalue(matrices.permute(1, 2, 0))
    np.testing.assert_allclose(found.numpy(), float(max(values)), atol=1e-7)


def test_what_falls_is_as_fast_as_it_fell_for() -> None:
    simulator = Simulator(
        Scene([SoftBody(block(), NeoHookean(1e4, 0.3))]), results=("speed",), frame_time=0.05
    )
    *_, last = simulator.run(4)
    np.testing.assert_allclose(last.fields["speed"][0].numpy(), 9.81 * 0.2, rtol=1e-6)


def test_frames_have_what_was_asked_for_and_no_more() -> None:
    scene = Scene([SoftBody(block(), NeoHookean(1e4, 0.3))])
    assert dict(Simulator(scene).frame().fields) == {}
    everything = Simulator(scene, results=tuple(reversed(RESULTS))).frame().fields
    assert list(everything) == list(RESULTS)
    sizes = {"tet": 48, "vertex": 27}
    for name, values in everything.items():
        assert values[0].shape == (sizes[RESULTS[name].per],), name


def test_a_result_that_is_unknown_is_refused_with_those_that_are_known() -> None:
    scene = Scene([SoftBody(block(), NeoHookean(1e4, 0.3))])
    known = "von_mises, stretch, speed, contact_pressure, plastic_strain"
    with pytest.raises(SceneError, match=f"one of {known}, not 'heat'"):
        Simulator(scene, results=("heat",))
    with pytest.raises(SceneError, match=r"write \('speed',\)"):
        Simulator(scene, results="speed")


def test_on_a_device_they_are_the_same() -> None:
    mesh = block((2, 1, 1))
    body = SoftBody(
        *(mesh, NeoHookean(1e4, 0.3)),
        initial_positions=mesh.vertices * (1.2, 1.0, 0.9),
        velocity=(3.0, 0.0, 4.0),
        plasticity=Plasticity(100.0),
    )
    scene = Scene([body], ground=Ground(distance=0.02))

    def found(device: str) -> dict[str, np.ndarray]:
        system = System(scene, torch.device(device), torch.float64)
        state = system.initial_state()
        state.positions[2] -= 0.01
        system.plastic_flow.flow(state.positions, 0.1)
        state = replace(state, plastic=system.plastic_flow.plastic)
        fields = fields_of(system, lambda: False, tuple(RESULTS))
        return {name: values(state)[0].cpu().numpy() for name, values in fields.items()}

    expected = found("cpu")
    with pretended_cuda():
        on_device = found("cuda")
    for name, values in expected.items():
        largest = float(values.max())
        assert largest > 0.0, name
        np.testing.assert_allclose(on_device[name], values, atol=1e-9 * largest)
