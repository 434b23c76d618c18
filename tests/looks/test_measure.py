# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene of few frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest

import supple
from supple.looks.measure import figures, simulate
from supple.looks.scenes import FALL_M, SCENARIOS, Scenario, build
from supple.looks.shapes import shape
from supple.tests.addon.conftest import working_here


@pytest.fixture(scope="module", autouse=True)
def addon() -> Iterator[None]:
    supple.register()
    yield
    supple.unregister()


def test_a_body_that_still_falls_is_as_it_was_at_rest(tmp_path: Path) -> None:
    with working_here():
        found = simulate(Scenario("hand", "drop", 40), tmp_path, frames=3)
    lowest = found.positions[:, :, 2].min(axis=1)
    fall = 0.5 * 9.81 * (np.arange(4) / 24) ** 2
    np.testing.assert_allclose(FALL_M - lowest, fall, rtol=0.05, atol=1e-5)
    measured = figures(found)
    assert measured["crossing_faces"] == measured["inverted_tets"] == 0
    assert measured["torn_percent"] == measured["ground_depth_mm"] == 0.0
    assert measured["roughness"] == pytest.approx(1.0, abs=0.01)
    assert measured["longest_stretch"] == pytest.approx(1.0, abs=0.01)
    assert measured["least_j"] == pytest.approx(1.0, abs=0.01)
    assert measured["tets"] > 1000


def test_plates_close_by_two_fifths_of_the_width() -> None:
    stage = build(Scenario("rabbit", "squeeze", 15))
    scene, (left, right) = bpy.context.scene, stage.plates
    between = []
    for frame in (1, 22, 41):
        scene.frame_set(frame)
        inner = right.matrix_world.translation.x - left.matrix_world.translation.x
        between.append(inner - right.dimensions.x)
    width = stage.body.dimensions.x
    assert between[1] == pytest.approx(0.6 * width, rel=1e-3)
    assert between[0] == between[2] == pytest.approx(1.06 * width, rel=1e-3)


def test_only_stiffness_and_place_are_set() -> None:
    stage = build(Scenario("rabbit", "drop", 15))
    other = bpy.data.objects.new("other", stage.body.data.copy())
    bpy.context.collection.objects.link(other)
    stage.body.select_set(False)
    other.select_set(True)
    assert bpy.ops.supple.add() == {"FINISHED"}
    assert other.supple.enabled
    assert stage.body.supple.enabled
    for name in ("resolution", "poisson", "density", "damping", "mesh_method", "contact_surface"):
        assert getattr(stage.body.supple, name) == getattr(other.supple, name)


def test_the_cage_is_what_a_modifier_makes_the_monkey_of() -> None:
    stage = build(Scenario("cage", "drop", 15))
    depsgraph = bpy.context.evaluated_depsgraph_get()
    seen = stage.body.evaluated_get(depsgraph).data
    assert len(stage.body.data.vertices) == 507
    points = np.empty(3 * len(seen.vertices), dtype=np.float32)
    seen.vertices.foreach_get("co", points)
    np.testing.assert_allclose(points.reshape(-1, 3), shape("cage").vertices, atol=1e-6)


def test_every_body_is_dropped_and_squeezed_at_three_stiffnesses() -> None:
    assert len(SCENARIOS) == 6 * 2 * 3
    for body in {scenario.body for scenario in SCENARIOS}:
        young = [s.young for s in SCENARIOS if (s.body, s.action) == (body, "drop")]
        assert young == sorted(young, reverse=True)
