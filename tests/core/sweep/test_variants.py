# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes with other settings, by the names of these."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from supple.core import Channel, SceneError
from supple.core.job import Settings, digest
from supple.core.job.settings import array_hashes
from supple.core.sweep.variants import changed

from .tiny_sweep import SCENE, SETTINGS


def test_settings_of_bodies_materials_meshes_ground_contact_and_steps() -> None:
    values = {
        "Jelly.young": 2e4,
        "Jelly.damping": 3,
        "Jelly.mesh.edge_length": 0.5,
        "Plate.friction": 0.2,
        "ground.height": -1,
        "contact.distance": 0.01,
        "scene.time_scale": 0.5,
        "integrator": "bdf2",
        "substeps": 4,
    }
    before = digest(SCENE, SETTINGS)
    scene, settings = changed(SCENE, SETTINGS, values)
    (jelly,), (plate,) = scene.bodies, scene.colliders
    assert (jelly.material.young, jelly.damping, jelly.mesh.edge_length) == (2e4, 3.0, 0.5)
    assert (plate.friction, scene.ground.height, scene.contact.distance) == (0.2, -1.0, 0.01)
    assert scene.time_scale == 0.5
    assert (settings.integrator, settings.substeps) == ("bdf2", 4)
    assert digest(SCENE, SETTINGS) == before != digest(scene, settings)


def test_no_change_is_the_same_run_and_1_is_1_0() -> None:
    scene, settings = changed(SCENE, SETTINGS, {"Jelly.young": 30000, "ground.height": 0})
    assert digest(scene, settings) == digest(SCENE, SETTINGS)


def test_names_with_dots_and_names_that_begin_alike() -> None:
    (body,) = SCENE.bodies
    scene = replace(SCENE, bodies=[replace(body, name="A"), replace(body, name="A.b")])
    bodies = changed(scene, SETTINGS, {"A.b.young": 1e4, "A.density": 500.0})[0].bodies
    assert [each.material.young for each in bodies] == [3e4, 1e4]
    assert [each.density for each in bodies] == [500.0, 1000.0]


def test_arrays_that_stay_are_hashed_once_and_the_digest_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factors = Channel(np.linspace(1.0, 2.0, 5))
    (body,) = SCENE.bodies
    scene = replace(SCENE, bodies=[replace(body, stiffness=factors)])
    hashes = array_hashes(scene)
    for values in ({"Jelly.young": 2e4}, {"scene.gravity": [0.0, 0.0, 1.0]}, {}):
        other, settings = changed(scene, SETTINGS, values)
        name = digest(other, settings)
        with monkeypatch.context() as patch:
            patch.setattr("supple.core.job.settings._hash", None)
            assert digest(other, settings, hashes=hashes) == name
    other = replace(scene, bodies=[replace(body, stiffness=Channel(factors.samples + 1.0))])
    assert digest(other, SETTINGS, hashes=hashes) == digest(other, SETTINGS)
    assert digest(other, SETTINGS) != digest(scene, SETTINGS)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Jelly.yuong", 1.0, "Jelly.yuong: there is no 'yuong'. Did you mean young?"),
        ("Jely.young", 1.0, "Jely.young is no setting of this scene. Did you mean Jelly?"),
        ("velocity", 1.0, "velocity is no setting of this scene. There are Jelly, Plate, ground"),
        ("Jelly.young", -1.0, "Jelly.young: "),
        ("Jelly.young", "soft", "Jelly.young: "),
        ("Jelly.young.more", 1.0, "Jelly.young.more: young has no settings of its own here."),
        ("Jelly.plasticity.creep", 1.0, "Jelly.plasticity.creep: plasticity has no settings"),
        ("Plate.triangles", 1.0, "Plate.triangles cannot be varied: it is no single value"),
        ("integrator", "euler", "integrator: The integrator must be one of"),
        ("substeps", 1.5, "substeps: "),
        ("frame_count", 5, "frame_count is no setting of this scene."),
    ],
)
def test_what_cannot_be_varied_is_said(name: str, value: Any, said: str) -> None:
    with pytest.raises(SceneError, match=f"^{re.escape(said)}"):
        changed(SCENE, SETTINGS, {name: value})


def test_a_scene_without_contact_has_none_to_vary() -> None:
    scene = replace(SCENE, colliders=[], contact=None)
    with pytest.raises(SceneError, match="the scene has no contact"):
        changed(scene, Settings(1), {"contact.friction": 0.1})
