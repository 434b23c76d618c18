# SPDX-License-Identifier: GPL-3.0-or-later
"""Against bars that are pulled and pressed beyond their yield stress."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.core import Plasticity, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.materials import NeoHookean, StableNeoHookean
from supple.tests.core.integrators.test_plasticity import bar, plastic_strain, simulator, strain_of
from supple.verification.meshes import block

RESULTS = ("plastic_strain",)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler()])
@pytest.mark.parametrize("strain", [0.05, -0.05], ids=["pulled", "pressed"])
def test_a_bar_has_the_strain_that_it_keeps(integrator, strain) -> None:
    scene = bar(*np.linspace(0.0, strain, 9), strain)
    *_, held = simulator(scene, integrator, results=RESULTS).run(9)
    found = held.fields["plastic_strain"][0].numpy()
    expected = abs(plastic_strain(strain_of(held)))
    assert expected > 0.02
    assert found.mean() == pytest.approx(expected, rel=0.01)
    # What explicit steps pull in a fifth of a second still rings a little.
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_what_is_pulled_and_pressed_back_adds_up() -> None:
    there, back = np.linspace(0.0, 0.05, 9), np.linspace(0.05, 0.0, 9)
    run = simulator(bar(*there, *back, 0.0), ImplicitEuler(), results=RESULTS)
    frames = list(run.run(18))
    strains = [float(frame.fields["plastic_strain"][0].mean()) for frame in frames]
    assert strains == sorted(strains)
    assert strains[-1] > 1.3 * strains[8]


def test_bodies_that_come_back_have_none_among_those_that_do_not() -> None:
    """The bodies have two models, so that tets are not computed in the order of the bodies."""
    bodies = []
    for place, (model, limit) in enumerate(
        [(NeoHookean, 0.1), (StableNeoHookean, None), (StableNeoHookean, 0.3), (NeoHookean, 0.2)]
    ):
        mesh = block((1 + place, 1, 1), origin=(5.0 * place, 0.0, 0.0))
        longer = mesh.vertices * np.array([2.0, 0.5**0.5, 0.5**0.5])
        gives_way = None if limit is None else Plasticity(1.0, limit=limit)
        bodies.append(
            SoftBody(mesh, model(1e4, 0.3), initial_positions=longer, plasticity=gives_way)
        )
    scene = Scene(bodies, gravity=(0.0, 0.0, 0.0))
    run = Simulator(scene, ImplicitEuler(), results=RESULTS, frame_time=1e-3)
    started = [values.numpy() for values in run.frame().fields["plastic_strain"]]
    assert not any(values.any() for values in started)
    (frame,) = run.run(1)
    for values, body in zip(frame.fields["plastic_strain"], bodies, strict=True):
        assert values.shape == (len(body.mesh.tets),)
        limit = 0.0 if body.plasticity is None else body.plasticity.limit
        np.testing.assert_allclose(values.numpy(), limit, rtol=1e-6)


def test_a_state_without_flow_has_none_after_one_with() -> None:
    run = simulator(bar(0.0, 0.05), SymplecticEuler(), results=RESULTS)
    rest = run.state
    (frame,) = run.run(1)
    assert frame.fields["plastic_strain"][0].min() > 0.0
    run.state = replace(rest, plastic=None)
    assert not run.frame().fields["plastic_strain"][0].any()
