# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sidebar's first panel says, drawn on a layout that keeps the texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from supple.addon import actions, intersections, playback, runs
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.panels.material import SUPPLE_PT_material
from supple.core.intersection_report import IntersectionReport
from supple.core.job import Job

pytestmark = pytest.mark.usefixtures("solver")


class Layout:
    """Stands in for Blender's, which exists only in a window."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self.buttons: list[str] = []

    def label(self, text: str, icon: str) -> None:
        self.texts.append((icon, text))

    def progress(self, factor: float, text: str) -> None:
        self.texts.append(("", text))

    def operator(self, name: str, icon: str) -> None:
        self.buttons.append(name)

    def column(self, align: bool) -> Layout:
        return self

    row = column

    def prop(self, owner: bpy.types.PropertyGroup, name: str) -> None:
        self.texts.append(("", owner.bl_rna.properties[name].name))

    def operator_menu_enum(self, operator: str, setting: str, text: str, icon: str) -> None:
        assert operator == "supple.apply_preset" and setting == "preset"
        self.texts.append((icon, text))


def sidebar(scene: bpy.types.Scene) -> list[tuple[str, str]]:
    """(icon, text) of each label."""
    return drawn(scene).texts


def drawn(scene: bpy.types.Scene) -> Layout:
    layout = Layout()
    context: Any = SimpleNamespace(
        scene=scene,
        object=bpy.context.object,
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),
        region=SimpleNamespace(width=2000),
    )
    SUPPLE_PT_main.draw(SimpleNamespace(layout=layout), context)
    return layout


def log(scene: bpy.types.Scene) -> Job:
    folder = playback.shown_folder(scene)
    assert folder is not None
    return Job(folder)


def test_the_integrator_of_the_menu_simulates_and_is_shown(scene, add_body):
    add_body()
    scene.supple.integrator = "implicit_euler"
    assert sidebar(scene) == []
    said = actions.simulate(bpy.context)
    last = log(scene).records()[-1]
    assert (last["integrator"], last["substeps"]) == ("Implicit Euler", 1)
    ((icon, shown),) = sidebar(scene)
    assert icon == "INFO"
    assert shown.startswith("Implicit Euler, 1 step a frame, ")
    assert f"{shown}." in said


def test_another_integrator_is_another_run(scene, add_body):
    add_body()
    shown = []
    for name in ("implicit_euler", "symplectic_euler"):
        scene.supple.integrator = name
        assert "Simulated" in actions.simulate(bpy.context)
        shown.append(sidebar(scene)[0][1].split(",")[0])
    assert shown == ["Implicit Euler", "Symplectic Euler"]


def test_bodies_with_integrators_of_their_own_are_simulated_together(scene, add_body):
    first, second = add_body(), add_body()
    scene.supple.contact = "never"
    first.supple.integrator, second.supple.integrator = "runge_kutta4", "implicit_euler"
    assert "Simulated" in actions.simulate(bpy.context)
    assert sidebar(scene)[0][1].startswith("Runge–Kutta 4, Implicit Euler, ")


def test_frames_that_did_not_converge_are_a_warning(scene, add_body):
    add_body()
    actions.simulate(bpy.context)
    log(scene).append_record(log(scene).records()[2] | {"converged": False})
    warning = "1 frame did not reach the tolerance: more substeps help"
    assert sidebar(scene)[-1] == ("ERROR", warning)
    assert f"{warning}." in actions.simulate(bpy.context)


def test_while_it_runs_the_steps_of_this_run_are_shown(scene, add_body, monkeypatch):
    add_body()
    scene.supple.integrator = "symplectic_euler"
    actions.simulate(bpy.context)
    scene.supple.integrator, scene.frame_end = "implicit_euler", 250
    run = runs.Simulation(bpy.context)
    monkeypatch.setattr(runs, "current", run)
    assert not [text for _, text in sidebar(scene) if "Euler" in text]
    while run.playback.last_frame < 1:
        run.step()
    assert [text for _, text in sidebar(scene) if text.startswith("Implicit Euler, 1 step")]
    run.cancel()


def test_the_material_panel_shows_presets_elasticity_and_every_kind_of_damping(add_body):
    layout = Layout()
    context: Any = SimpleNamespace(object=add_body())
    SUPPLE_PT_material.draw(SimpleNamespace(layout=layout), context)
    assert [text for _, text in layout.texts] == [
        *("Preset", "Model", "Stiffness", "Bulging", "Density"),
        *("Damping", "Inner Damping", "Viscosity"),
    ]


def test_what_intersects_is_said_with_two_cures(scene, add_body, tmp_path):
    add_body()
    assert "supple.push_apart" not in drawn(scene).buttons
    job = Job(tmp_path)
    job.write_intersections(IntersectionReport([], {"Cube": (0.0, 0.0, 1.0)}))
    intersections.remember(scene, job, "Cube intersects Table.")
    layout = drawn(scene)
    intersections.forget()
    assert ("ERROR", "Cube intersects Table.") in layout.texts
    assert layout.buttons[-2:] == ["supple.select_intersections", "supple.push_apart"]
