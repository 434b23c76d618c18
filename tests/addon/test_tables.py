# SPDX-License-Identifier: GPL-3.0-or-later
"""Every row of the tables of integrators and materials is offered everywhere."""

from __future__ import annotations

import bpy
import pytest

from supple.addon import command_line
from supple.core.integrators import Adaptive, integrator_named
from supple.core.job import Settings
from supple.core.materials import MODEL_TABLE
from supple.core.scene.integrator_table import INTEGRATORS
from supple.verification.expected import CHOICES, methods, models
from supple.verification.laws import law_of


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
