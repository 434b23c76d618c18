# SPDX-License-Identifier: GPL-3.0-or-later
"""Translations of the interface: a file for each language, ``<locale>.json`` in this folder.

A file maps the English texts to their translations; ``tools/translation.py`` writes one to fill in.
Blender looks up labels, tooltips and other fixed texts by itself. Messages that hold names and
numbers come as finished texts, some of them from the solver's process, which knows no languages.
``translated`` finds the template of such a message, in which ``{0}``, ``{1}`` … stand for them.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

import bpy

from ...core.errors import legible

FOLDER = Path(__file__).parent
#: The contexts in which Blender looks up labels: of words that it translates otherwise itself, of
#: buttons, and all others.
OWN_CONTEXT = "Supple"
CONTEXTS = (OWN_CONTEXT, "Operator", "*")

#: The translations of a language by the English texts.
Texts = dict[str, str]

_PLACEHOLDER = re.compile(r"\{\d+\}")
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
# Dialogs and panels translate the same few messages at every redraw.
_CACHED_MESSAGES = 512


def register() -> None:
    bpy.app.translations.register(__package__, catalogue())
    _texts.cache_clear()
    _translate.cache_clear()


def unregister() -> None:
    bpy.app.translations.unregister(__package__)


def catalogue() -> dict[str, dict[tuple[str, str], str]]:
    """The translations of each locale by context and English text, as Blender takes them."""
    return {
        path.stem: {
            (context, text): value for context in CONTEXTS for text, value in read(path).items()
        }
        for path in sorted(FOLDER.glob("*.json"))
    }


def translated(text: str) -> str:
    """Return a label or message in Blender's language, as far as its file has it.

    Args:
        text: one or more English sentences, with names and numbers filled in.
    """
    view = bpy.context.preferences.view
    return legible(_translate(text, language()) if view.use_translate_interface else text)


def language() -> str:
    """The locale of Blender's interface, such as ``de_DE``; empty for English."""
    return str(bpy.app.translations.locale)


def read(path: Path) -> Texts:
    """Read the texts of a language that have a translation."""
    texts: Texts = json.loads(path.read_text(encoding="utf-8"))
    return {text: value for text, value in texts.items() if value}


@lru_cache
def _texts(locale: str) -> tuple[Texts, list[tuple[re.Pattern[str], str]]]:
    """The fixed texts of a language, and its templates, those with the most fixed letters first."""
    path = FOLDER / f"{locale}.json"
    texts = read(path) if locale and path.exists() else {}
    templates = [text for text in texts if _PLACEHOLDER.search(text)]
    templates.sort(key=lambda text: len(_PLACEHOLDER.sub("", text)), reverse=True)
    return texts, [(_pattern(text), texts[text]) for text in templates]


def _pattern(template: str) -> re.Pattern[str]:
    fixed = [re.escape(part) for part in _PLACEHOLDER.split(template)]
    return re.compile("(.+?)".join(fixed), re.DOTALL)


@lru_cache(maxsize=_CACHED_MESSAGES)
def _translate(text: str, locale: str) -> str:
    texts, templates = _texts(locale)
    if not texts or text in texts:
        return texts.get(text, text)
    for pattern, translation in templates:
        if match := pattern.fullmatch(text):
            # A part may be a message of its own, such as the reason of an error.
            parts = [_translate(part, locale) for part in match.groups()]
            return translation.format(*parts)
    sentences = _SENTENCE_END.split(text)
    if len(sentences) == 1:
        return text
    return " ".join(_translate(sentence, locale) for sentence in sentences)
