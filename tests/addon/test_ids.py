# SPDX-License-Identifier: GPL-3.0-or-later
"""Ids of operators and panels stand where they are declared, and nowhere else."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import bpy

from supple.addon import ids, operators, panels

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
