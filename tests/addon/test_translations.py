# SPDX-License-Identifier: GPL-3.0-or-later
"""A translation is one file: labels and messages that it has are shown in its language."""

from __future__ import annotations

import json
import re
from pathlib import Path

import bpy
import pytest

from supple import addon
from supple.addon import translations
from supple.addon.operators.presets import PANELS
from supple.addon.panels.body import SUPPLE_PT_force_fields
from supple.tests.addon.conftest import AddBody
from supple.tests.addon.layout import drawn
from supple.tools import translation

SHIPPED = translations.FOLDER
CATALOGUE = {
    "Rigid Core": "Fester Kern",
    "Bake": "Backen",
    "Simulate all soft bodies. Selected meshes are added first. Resumes a cancelled run": "Los",
    "No active force fields.": "Keine Kraftfelder.",
    "{0} is not a soft body anymore.": "{0} ist kein Weichkörper mehr.",
    "Select a soft body.": "Wähle einen Weichkörper.",
    "{0}: the modifier {1} has no effect, since {2}": "{1} von {0} wirkt nicht: {2}",
    "no file is chosen. Choose one, or remove it.": "keine Datei gewählt.",
    "The scene has no object {0}.": "Die Szene hat kein Objekt {0}.",
    "Acting: {0}": "",
}


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up German file, in a Blender that is set to German: the bpy wheel knows no others."""
    (tmp_path / "de_DE.json").write_text(json.dumps(CATALOGUE), encoding="utf-8")
    translations.unregister()
    monkeypatch.setattr(translations, "FOLDER", tmp_path)
    translations.register()
    monkeypatch.setattr(translations, "language", lambda: "de_DE")


def test_messages_are_shown_in_the_language_of_blender(german: None, add_body: AddBody) -> None:
    assert ("NONE", "Keine Kraftfelder.") in drawn(SUPPLE_PT_force_fields, None).texts
    assert translations.translated("Cube is not a soft body anymore.") == (
        "Cube ist kein Weichkörper mehr."
    )


def test_names_and_reasons_in_a_message_may_change_places(german: None) -> None:
    text = (
        "Cube: the modifier Waves has no effect, since no file is chosen. Choose one, or remove it."
    )
    assert translations.translated(text) == "Waves von Cube wirkt nicht: keine Datei gewählt."


def test_sentences_are_translated_one_by_one(german: None) -> None:
    text = "Cube is not a soft body anymore. Nobody translated this. Select a soft body."
    assert translations.translated(text) == (
        "Cube ist kein Weichkörper mehr. Nobody translated this. Wähle einen Weichkörper."
    )


def test_texts_without_a_translation_stay_english(
    german: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert translations.translated("Acting: Wind") == "Acting: Wind"
    monkeypatch.setattr(translations, "language", lambda: "fr_FR")
    assert translations.translated("Select a soft body.") == "Select a soft body."


def test_english_is_shown_where_the_interface_is_not_translated(
    german: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = bpy.context.preferences.view
    before = view.use_translate_interface
    view.use_translate_interface = False
    try:
        assert translations.translated("Select a soft body.") == "Select a soft body."
    finally:
        view.use_translate_interface = before


def test_buttons_report_in_the_language_of_blender(german: None, scene: bpy.types.Scene) -> None:
    with pytest.raises(RuntimeError, match=r"Die Szene hat kein Objekt Lost\."):
        bpy.ops.supple.subdivide(object_name="Lost")


def test_blender_is_given_labels_of_settings_and_of_buttons(german: None) -> None:
    texts = translations.catalogue()["de_DE"]
    assert texts["*", "Rigid Core"] == "Fester Kern"
    assert texts["Operator", "Bake"] == "Backen"
    assert ("*", "Acting: {0}") not in texts


def test_the_list_of_texts_has_labels_tooltips_choices_and_messages() -> None:
    texts = set(translation.interface_texts())
    assert set(CATALOGUE) <= texts
    assert {"Soft Bodies", "Lattice", "Stable Neo-Hookean", "Von Mises Stress"} <= texts
    # The solver's messages come as finished texts.
    assert {"{0} is in the way", "surfaces are close", "{0}. Simulate again."} <= texts


def test_the_file_of_a_language_keeps_its_translations_and_drops_old_texts(tmp_path: Path) -> None:
    path = tmp_path / "de_DE.json"
    path.write_text(json.dumps({"Bake": "Backen", "Gone": "Weg"}), encoding="utf-8")
    translation.write(path, ["Bake", "New Text"])
    assert json.loads(path.read_text(encoding="utf-8")) == {"Bake": "Backen", "New Text": ""}
    assert translations.read(path) == {"Bake": "Backen"}


def test_docstrings_and_single_words_are_no_messages() -> None:
    source = '"""A module."""\nNAME = "young"\nraise Error(f"{obj.name} has {count} faces.")'
    assert list(translation.message_templates(source)) == ["{0} has {1} faces."]


@pytest.mark.parametrize("locale", ["de_DE", "zh_HANS"])
def test_a_language_that_comes_along_has_most_labels_and_every_placeholder(locale: str) -> None:
    texts = translations.read(SHIPPED / f"{locale}.json")
    # Blender names a menu of presets after the one that was chosen last.
    classes = [each for each in addon.CLASSES if each not in PANELS]
    labels = {text for text in translation.labels(classes) if "\n" not in text}
    assert len(labels & set(texts)) > 0.9 * len(labels), labels - set(texts)
    for text, value in texts.items():
        places = [sorted(re.findall(r"\{\d+\}", each)) for each in (text, value)]
        assert places[0] == places[1], text
