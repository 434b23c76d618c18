# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of the sidebar's first panel, drawn on a layout that keeps them."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from supple.addon import actions, ids, panels, runs
from supple.addon.fits.table import TOOLS
from supple.addon.panels.body import (
    SUPPLE_PT_goals,
    SUPPLE_PT_material,
    SUPPLE_PT_material_advanced,
    SUPPLE_PT_start,
)
from supple.addon.panels.main import SUPPLE_PT_main, SUPPLE_PT_statistics
from supple.addon.panels.solver import SUPPLE_PT_cache, SUPPLE_PT_solver, SUPPLE_PT_solver_advanced
from supple.addon.playback import mesh_cache
from supple.addon.reports import intersections
from supple.addon.settings import AUTOMATIC, PERCENT, names_in
from supple.addon.settings.object import OBJECT
from supple.addon.settings.scene import SCENE
from supple.addon.worker import solver_environment, warm_worker
from supple.core.errors import SuppleError
from supple.core.job import Job
from supple.core.preparation.intersection_report import IntersectionReport

from ..conftest import working_here
from ..layout import Layout, drawn

pytestmark = pytest.mark.usefixtures("solver")


def sidebar(scene: bpy.types.Scene) -> list[tuple[str, str]]:
    """The icon and the text of each label of the first panel."""
    return drawn(SUPPLE_PT_main, bpy.context.object).texts


def steps(scene: bpy.types.Scene) -> str:
    """The text of Statistics about the steps."""
    texts = drawn(SUPPLE_PT_statistics, None).texts
    return texts[0][1] if texts else ""


def log(scene: bpy.types.Scene) -> Job:
    folder = mesh_cache.shown_folder(scene)
    assert folder is not None
    return Job(folder)


def test_the_integrator_of_the_menu_simulates_and_is_shown(scene, add_body, solver_here):
    add_body()
    scene.supple.integrator = "implicit_euler"
    assert sidebar(scene) == []
    message = actions.simulate(bpy.context)
    last = log(scene).records()[-1]
    assert (last["integrator"], last["substeps"]) == ("Implicit Euler", 1)
    assert steps(scene).startswith("Implicit Euler, 1 step per frame, ")
    assert f"{steps(scene)}." in message


def test_below_the_buttons_stands_how_long_the_frames_took(scene, add_body, solver_here):
    add_body()
    actions.simulate(bpy.context)
    ((icon, shown),) = sidebar(scene)
    assert icon == "INFO"
    assert re.fullmatch(r"Frames 1 to 4 took (less than 0\.1|\d\.\d) s", shown)


def test_another_integrator_is_another_run(scene, add_body, solver_here):
    add_body()
    shown = []
    for name in ("implicit_euler", "symplectic_euler"):
        scene.supple.integrator = name
        assert "Simulated" in actions.simulate(bpy.context)
        shown.append(steps(scene).split(",")[0])
    assert shown == ["Implicit Euler", "Symplectic Euler"]


def test_frames_that_did_not_converge_are_a_warning(scene, add_body, solver_here):
    add_body()
    actions.simulate(bpy.context)
    log(scene).append_record(log(scene).records()[2] | {"converged": False})
    warning = "1 frame did not reach the tolerance. Raise Substeps"
    assert sidebar(scene)[-1] == ("ERROR", warning)
    assert f"{warning}." in actions.simulate(bpy.context)


def test_while_it_runs_the_steps_of_this_run_are_shown(scene, add_body, monkeypatch, solver_loaded):
    add_body()
    scene.supple.integrator = "symplectic_euler"
    with working_here():
        actions.simulate(bpy.context)
    scene.supple.integrator, scene.frame_end = "implicit_euler", 250
    run = runs.Simulation(bpy.context)
    monkeypatch.setattr(runs, "current", run)
    assert not steps(scene)
    while run.playback.last_frame < 1:
        run.step()
        time.sleep(runs.PAUSE_SECONDS)
    assert steps(scene).startswith("Implicit Euler, 1 step")
    assert [text for _, text in sidebar(scene) if text.startswith("Frames 1 to ")]
    run.cancel()


def test_the_material_panel_shows_presets_elasticity_and_every_kind_of_damping(add_body):
    body = add_body()
    layout = drawn(SUPPLE_PT_material, body)
    assert layout.buttons == ["SUPPLE_MT_material_sets", ids.APPLY_PRESET, ids.SUIT_YOUNG]
    assert layout.labels == ["Preset", "Stiffness", "Density", "Damping"]
    assert drawn(SUPPLE_PT_material_advanced, body).labels == [
        *("Model", "Poisson's Ratio", "Loss Factor", "Rebound", "Stiffness Damping", "Viscosity"),
        "Rest Shape",
    ]
    body.supple.model = "st_venant_kirchhoff"
    assert "guard" in drawn(SUPPLE_PT_material_advanced, body).settings


def _label(panel: Any) -> str:
    return str(panel.bl_label)


def test_what_artists_need_first_is_open_and_above_the_rest(add_body):
    assert "resolution" in drawn(SUPPLE_PT_solver, add_body()).settings
    top = [each for each in panels.CONTENTS if each.parent is None]
    assert [_label(each) for each in top] == [
        *("Soft Bodies", "Material", "Pins and Jiggle", "Collisions"),
        *("Forces", "Start", "Solver", "Goals", "Takes", "Playback", "Export"),
    ]
    is_open = [_label(each) for each in panels.CONTENTS if not each.is_closed]
    assert is_open == ["Soft Bodies", "Material", "Pins and Jiggle", "Collisions", "Solver"]
    for panel in top:
        below = [_label(each) for each in panels.CONTENTS if each.parent is panel]
        assert "Advanced" not in below[:-1], "what is seldom needed stands last"


def test_the_same_panels_stand_in_the_sidebar_and_in_properties(scene):
    def shown(place: str) -> list[tuple[str, str]]:
        there = [each for each in panels.CLASSES if each.bl_space_type == place]
        names = {each.bl_idname: each.bl_label for each in there}
        return [(each.bl_label, names.get(getattr(each, "bl_parent_id", ""), "")) for each in there]

    sidebar, physics = shown("VIEW_3D"), shown("PROPERTIES")
    assert physics[0] == ("Supple", "")
    assert physics[1:] == [(label, parent or "Supple") for label, parent in sidebar]


def test_the_name_of_a_tool_stands_above_its_settings(add_body, monkeypatch):
    seen: list[str] = []

    def operator(_: Layout, name: str, text: str, **options: object) -> SimpleNamespace:
        seen.append(text)
        return SimpleNamespace()

    monkeypatch.setattr(Layout, "operator", operator)
    monkeypatch.setattr(Layout, "prop", lambda _, owner, name, *rest, **options: seen.append(name))
    drawn(SUPPLE_PT_goals, add_body())
    assert seen == [each for tool in TOOLS.values() for each in (tool.label, *tool.settings)]


def test_the_start_is_set_unless_it_is_taken_from_the_animation(add_body):
    body = add_body()
    shown = ["Shape", "Start Settled", "From Animation"]
    assert drawn(SUPPLE_PT_start, body).labels == [*shown, "Velocity", "Spin"]
    body.supple.start_from_animation = True
    assert drawn(SUPPLE_PT_start, body).labels == shown


def test_a_solver_that_lacks_a_package_offers_to_install_it(add_body, monkeypatch):
    body = add_body()
    assert ids.INSTALL_SOLVER not in drawn(SUPPLE_PT_main, body).buttons
    monkeypatch.setattr(solver_environment, "may_have", lambda package: package != "scipy")
    layout = drawn(SUPPLE_PT_main, body)
    assert layout.texts[0][0] == "ERROR"
    assert layout.texts[0][1].startswith("The solver lacks the package SciPy.")
    assert layout.buttons[:2] == [ids.INSTALL_SOLVER, ids.DOCTOR]
    with pytest.raises(SuppleError, match=r"lacks the package SciPy\."):
        runs.Simulation(bpy.context)


def test_a_worker_that_compiles_shows_how_far_it_is(scene, add_body, monkeypatch):
    body = add_body()
    monkeypatch.setattr(warm_worker, "progress", lambda: 0.4)
    assert ("", runs.PREPARING) in drawn(SUPPLE_PT_main, body).texts
    monkeypatch.setattr(warm_worker, "progress", lambda: None)
    assert ("", runs.PREPARING) not in drawn(SUPPLE_PT_main, body).texts


def test_buttons_stay_where_they_are_while_the_solver_is_compiled(scene, add_body, monkeypatch):
    drawn_in_turn: list[str] = []
    monkeypatch.setattr(Layout, "operator", lambda _, name, **__: drawn_in_turn.append(name))
    monkeypatch.setattr(Layout, "progress", lambda *_, text, **__: drawn_in_turn.append(text))
    monkeypatch.setattr(warm_worker, "progress", lambda: 0.4)
    drawn(SUPPLE_PT_main, add_body())
    order = [drawn_in_turn.index(each) for each in (ids.SIMULATE, ids.FREE, runs.PREPARING)]
    assert order == sorted(order)


def test_buttons_stay_where_they_are_whatever_is_active_and_while_it_runs(
    scene, add_body, play, monkeypatch
):
    body = add_body()
    play(3)
    bpy.ops.mesh.primitive_cube_add()
    plain = bpy.context.object
    bpy.ops.object.empty_add()
    empty = bpy.context.object
    in_turn: list[str] = []
    monkeypatch.setattr(Layout, "operator", lambda _, name, **__: in_turn.append(name))
    monkeypatch.setattr(Layout, "progress", lambda *_, **__: in_turn.append(ids.SIMULATE))
    monkeypatch.setattr(Layout, "label", lambda *_, **__: in_turn.append("text"))
    always = [ids.ADD, ids.ADD_COLLIDER, ids.JIGGLE, ids.REMOVE, ids.SIMULATE, ids.BAKE, ids.FREE]

    def first_drawn(obj: bpy.types.Object | None) -> list[str]:
        in_turn.clear()
        bpy.ops.object.select_all(action="DESELECT")
        if obj is not None:
            obj.select_set(True)
        drawn(SUPPLE_PT_main, obj)
        others = (ids.CANCEL, ids.RESUME)
        return [each for each in in_turn if each not in others][: len(always)]

    assert all(first_drawn(obj) == always for obj in (body, plain, empty, None))
    work = SimpleNamespace(progress=lambda: 0.5, describe=lambda: "Baking", cancelling="Esc.")
    monkeypatch.setattr(runs, "current", work)
    assert all(first_drawn(obj) == always for obj in (body, plain, None))


def test_the_report_on_tetrahedra_is_of_the_active_body(scene, add_body, solver_here):
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    second.supple.resolution = 3
    bpy.ops.supple.tetrahedralize()
    (one,), (other,) = (drawn(SUPPLE_PT_statistics, body).texts[:1] for body in (first, second))
    assert one != other
    assert one[1] == first.supple.mesh_report
    first.name = "Renamed"
    assert drawn(SUPPLE_PT_statistics, first).texts[0] == one


def test_the_cache_shows_where_it_is(scene, tmp_path):
    assert str(tmp_path / "cache") in drawn(SUPPLE_PT_cache, None).texts[0][1]
    scene.supple.cache_folder = "//beside"
    assert "not saved yet" in drawn(SUPPLE_PT_cache, None).texts[0][1]


def test_every_setting_of_artists_stands_in_a_panel(scene, add_body):
    """Settings with conditions are drawn in tests of their own."""
    body = add_body()
    body.supple.pin_group = body.supple.jiggle_group = "Group"
    body.supple.attach_to = add_body("Other")
    body.supple.use_target_volume, body.supple.start_shape = True, "rest"
    seen = {name for panel in panels.CONTENTS for name in drawn(panel, body).settings}
    collider = set(names_in("collider", OBJECT, body.supple)) | {"collider"}
    rows = [*OBJECT, *SCENE]
    missing = {row.name for row in rows if row.label and row.panel and row.name not in seen}
    views = {AUTOMATIC.format(row.name) for row in rows} | {
        PERCENT.format(row.name) for row in rows
    }
    shown_as = {name.partition("_")[2] for name in seen & views}
    conditional = {row.name for row in rows if row.shown is not None or row.panel == "goals"}
    ball = {row.name for row in rows if row.panel in ("sphere collider", "mesh collider")}
    assert missing - shown_as - collider - conditional - ball == set()


def test_auto_is_zero_and_the_percentage_is_the_factor(scene, add_body):
    props = scene.supple
    assert props.auto_substeps and props.substeps == 0
    props.auto_substeps = False
    assert props.substeps == 4 and not props.auto_substeps
    props.substeps = 7
    props.auto_substeps = False
    assert props.substeps == 7
    assert drawn(SUPPLE_PT_solver_advanced, None).settings[-4:-2] == ["auto_substeps", "substeps"]
    props.auto_substeps = True
    assert props.substeps == 0
    body = add_body().supple
    assert body.percent_sliding_friction == 100.0
    body.percent_sliding_friction = 30.0
    assert body.sliding_friction == pytest.approx(0.3)
    body.percent_sliding_friction = 200.0
    assert body.sliding_friction == 1.0


def test_what_intersects_is_reported_with_two_cures(scene, add_body, tmp_path):
    add_body()
    assert ids.PUSH_APART not in drawn(SUPPLE_PT_main, bpy.context.object).buttons
    job = Job(tmp_path)
    job.write_intersections(IntersectionReport([], {"Cube": (0.0, 0.0, 1.0)}))
    intersections.remember(scene, job, "Cube intersects Table.")
    layout = drawn(SUPPLE_PT_main, bpy.context.object)
    intersections.forget()
    assert ("ERROR", "Cube intersects Table.") in layout.texts
    assert layout.buttons[-2:] == [ids.SELECT_INTERSECTIONS, ids.PUSH_APART]


def test_while_an_animation_plays_notices_stay_as_they_were_last_drawn(scene, add_body, play):
    body = add_body()
    play(3)
    still = drawn(SUPPLE_PT_main, body).texts
    body.supple.young *= 2.0
    assert drawn(SUPPLE_PT_main, body, is_playing=True).texts == still
    stopped = drawn(SUPPLE_PT_main, body).texts
    assert stopped != still
    assert any("out of date" in text for _, text in stopped)
