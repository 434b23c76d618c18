# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that the steps of an integrator do without are named, with the cure."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.capture.scene import capture

from .ignored_lines import messages, only


def test_an_integrator_without_viscosity_is_named_and_runs_without_it(scene, add_body):
    body, scene.supple.self_contact = add_body(), False
    body.supple.viscosity, body.supple.stiffness_damping = 10.0, 0.01
    assert messages() == []
    scene.supple.integrator = "xpbd"
    assert only().startswith("Cube: XPBD ignores Stiffness Damping and Viscosity")
    (captured,) = capture(bpy.context).scene.bodies
    assert (captured.viscosity, captured.stiffness_damping) == (0.0, 0.0)
    body.supple.viscosity = body.supple.stiffness_damping = 0.0
    assert messages() == []


def test_an_integrator_without_plasticity_is_named_and_runs_without_it(scene, add_body):
    body, scene.supple.self_contact = add_body(), False
    body.supple.use_plasticity = True
    assert messages() == []
    body.supple.viscosity, scene.supple.integrator = 0.0, "xpbd"
    assert only().startswith("Cube: XPBD ignores Plasticity. Switch it off")
    assert capture(bpy.context).scene.bodies[0].plasticity is None


def test_substeps_are_ignored_where_a_tolerance_says_how_long_all_steps_are(scene, add_body):
    add_body()
    scene.supple.integrator, scene.supple.substeps = "adaptive_midpoint", 4
    scene.supple.self_contact = False
    assert only().startswith("Scene: Substeps is ignored, since the Tolerance says how long")
    scene.supple.contact, scene.supple.integrator = "never", "midpoint"
    assert messages() == []


@pytest.mark.parametrize("integrator", ["symplectic_euler", "midpoint", "runge_kutta4"])
def test_friction_passes_are_ignored_where_no_step_is_implicit(scene, add_body, integrator):
    add_body()
    scene.supple.friction_updates = 1
    assert messages() == []
    scene.supple.integrator = integrator
    assert only().startswith("Scene: Friction Passes is ignored, since the steps of")
    scene.supple.contact = "never"
    assert messages() == []


def test_a_body_on_bouncy_ground_is_said_to_go_through_itself(scene, add_body):
    body, props = add_body(), scene.supple
    props.ground_response = "projection"
    assert only().startswith("Cube: it goes through itself")
    assert capture(bpy.context).scene.contact is None
    props.self_contact = False
    assert messages() == []
    props.self_contact, body.supple.jiggle_group = True, "Jiggle"
    assert messages() == []
    body.supple.jiggle_group, props.use_ground = "", False
    assert messages() == []


@pytest.mark.parametrize("integrator", ["xpbd", "adaptive_midpoint"])
def test_a_body_whose_integrator_knows_no_contact_is_said_to_go_through_itself(
    scene, add_body, integrator
):
    body, props = add_body(), scene.supple
    body.supple.viscosity, props.integrator = 0.0, integrator
    assert only().startswith("Cube: it goes through itself, since ")
    assert "lets it touch the ground and spheres alone. Choose Automatic" in only()
    assert capture(bpy.context).scene.contact is None
    props.contact = "never"
    assert messages() == []
    props.contact, body.supple.jiggle_group = "automatic", "Jiggle"
    assert not any("through itself" in line for line in messages())
