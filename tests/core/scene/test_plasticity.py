# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from supple.core import Plasticity, Scene, SoftBody
from supple.core.job.scene_file import encode, load_scene, save_scene
from supple.core.materials import Linear
from supple.verification.meshes import block


def body() -> SoftBody:
    return SoftBody(block((1, 1, 1), (1, 1, 1), (0, 0, 0)), plasticity=Plasticity(2e3, 0.5, 10.0))


def test_a_file_holds_plasticity(tmp_path: Path) -> None:
    save_scene(tmp_path / "scene.json", Scene([body()]), {})
    scene, _ = load_scene(tmp_path / "scene.json")
    assert scene.bodies[0].plasticity == Plasticity(2e3, 0.5, 10.0)


def test_a_file_of_an_elastic_body_says_nothing_of_it() -> None:
    assert "plasticity" not in encode(replace(body(), plasticity=None), "body", {})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"yield_stress": 0.0}, "yield stress must be above 0 Pa, not 0"),
        ({"yield_stress": math.nan}, "yield stress must be above 0 Pa"),
        ({"creep_time": -1.0}, "creep time, in seconds, must be 0 or more, not -1"),
        ({"hardening": math.inf}, "hardening, in pascal, must be 0 or more"),
        ({"limit": 0.0}, "limit of the plastic strain must be above 0"),
    ],
)
def test_numbers_out_of_range_are_refused_with_their_name(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        Plasticity(**{"yield_stress": 1e3, **settings})


def test_the_linear_model_is_refused_with_a_cure() -> None:
    with pytest.raises(ValueError, match=r"Soft body: the linear model .* Choose another model"):
        replace(body(), material=Linear())
