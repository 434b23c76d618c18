# SPDX-License-Identifier: GPL-3.0-or-later
"""Enabling and disabling the extension."""

from __future__ import annotations

import ast
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest

import supple
from supple.addon import asset_library, command_line, ids, operators, panels
from supple.addon.operators.presets import FOLDER
from supple.addon.panels import menus
from supple.addon.worker import session, warm_worker
from supple.core.integrators import Adaptive, integrator_named
from supple.core.job import Settings
from supple.core.materials import MODEL_TABLE
from supple.core.scene.integrator_table import INTEGRATORS
from supple.verification.expected import CHOICES, methods, models
from supple.verification.laws import law_of


def traces() -> list[str]:
    """Everything of Supple that Blender has while the extension is enabled."""
    return [
        *(name for name in dir(bpy.types) if name.startswith(("SUPPLE", "Supple"))),
        *(f"operator {name}" for name in dir(bpy.ops.supple)),
        *(kind.__name__ for kind in (bpy.types.Object, bpy.types.Scene) if has_settings(kind)),
        *(f"handler {name}" for name in handlers()),
        *(f"entry in {name}" for name in entries()),
        *(f"asset library {each.name}" for each in asset_library.libraries()),
        *(f"presets in {path}" for path in bpy.utils._preset_path_registry if path == FOLDER),
    ]


def has_settings(kind: type) -> bool:
    return hasattr(kind, "supple")


def handlers() -> Iterator[str]:
    """The lists of Blender's handlers, once for each function of Supple in them."""
    for name in dir(bpy.app.handlers):
        functions = getattr(bpy.app.handlers, name)
        if isinstance(functions, list):
            yield from (name for each in functions if "supple" in each.__module__)


def entries() -> Iterator[str]:
    """Blender's menus, once for each function of Supple that draws in them."""
    for name in menus.ENTRIES:
        drawing = getattr(getattr(bpy.types, name).draw, "_draw_funcs", ())
        yield from (name for each in drawing if "supple" in each.__module__)


def test_disabling_leaves_nothing_and_enabling_again_brings_everything_back():
    enabled = traces()
    assert {"SUPPLE_PT_main", "operator simulate", "handler load_post"} <= set(enabled)
    assert "asset library Supple" in enabled
    assert {"entry in VIEW3D_MT_object", f"presets in {FOLDER}"} <= set(enabled)
    supple.unregister()
    try:
        assert traces() == []
    finally:
        supple.register()
    assert traces() == enabled


def test_fifty_times_leave_no_more_than_once():
    enabled, threads = traces(), threading.active_count()
    for _ in range(50):
        supple.unregister()
        assert traces() == []
        supple.register()
    assert traces() == enabled
    assert threading.active_count() == threads
    assert not session.is_running() and warm_worker.progress() is None
    assert not bpy.app.timers.is_registered(warm_worker.prepare_unless_compiled)


ADDON = Path(ids.__file__).parent


def literals() -> dict[str, list[str]]:
    """Every string in the add-on's code, and the files it stands in."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in ADDON.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found[node.value].append(path.relative_to(ADDON).as_posix())
    return found


def declared() -> set[str]:
    return {value for name, value in vars(ids).items() if name.isupper()}


def test_an_operators_id_stands_in_ids_alone():
    found = literals()
    where = {text: found[text] for text in found if text.startswith("supple.")}
    assert where == {own: ["ids.py"] for own in declared()}


def test_every_id_has_its_operator_and_every_operator_its_id():
    assert declared() == {"supple." + name for name in dir(bpy.ops.supple)}
    assert len(declared()) == len(operators.CLASSES)


def test_a_panels_id_stands_in_its_class_alone():
    found = literals()
    for panel in panels.CLASSES:
        assert panel.bl_idname == panel.__name__
        assert set(found.get(panel.__name__, [])) <= {"panels/__init__.py"}


def offered(settings: bpy.types.PropertyGroup, name: str) -> list[tuple[str, str, str]]:
    items = settings.bl_rna.properties[name].enum_items
    return [(item.identifier, item.name, item.description) for item in items]


def test_menus_offer_every_integrator_in_the_words_of_its_row(scene):
    rows = [(name, row.label, row.description) for name, row in INTEGRATORS.items()]
    assert offered(scene.supple, "integrator") == rows


def test_the_menu_offers_every_material_in_the_words_of_its_row(add_body):
    rows = [(name, row.label, row.description) for name, row in MODEL_TABLE.items()]
    assert offered(add_body().supple, "model") == rows


@pytest.mark.parametrize("name", INTEGRATORS)
def test_command_line_and_job_take_every_integrator(name):
    options = command_line.parser("supple", with_file=False).parse_args(
        ["simulate", "--integrator", name]
    )
    assert Settings(1, integrator=options.integrator).integrator == name


@pytest.mark.parametrize("name", INTEGRATORS)
def test_every_integrator_is_what_its_row_says(name):
    row, integrator = INTEGRATORS[name], integrator_named(name, 1e-3)
    if row.is_adaptive:
        assert isinstance(integrator, Adaptive)
        assert (integrator.label, integrator.tolerance) == (row.label, 1e-3)
        integrator = integrator.integrator
    module, kind = row.where.split(".")
    assert type(integrator).__module__ == f"supple.core.integrators.{module}"
    assert type(integrator).__name__ == kind


def test_the_verification_knows_every_row_by_its_label():
    methods_ = {method.name: method.label for method in methods()}
    choices = set(INTEGRATORS) - set(methods_)
    assert choices == set(CHOICES)
    assert methods_ == {n: row.label for n, row in INTEGRATORS.items() if n not in choices}
    assert {each.name: each.label for each in models()} == {
        name: row.label for name, row in MODEL_TABLE.items()
    }
    for name in MODEL_TABLE:
        law_of(name, 1e5, 0.3)
