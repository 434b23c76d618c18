# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists that users write, in TOML or JSON: their content, and the line of each entry."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import SuppleError


def suggestion(name: str, names: Sequence[str], otherwise: str = "") -> str:
    """Return a question such as ``Did you mean young?``.

    Args:
        name: a name that a user wrote and that is not among ``names``.
        names: the names that there are.
        otherwise: the text to return where none of them is similar.
    """
    similar = difflib.get_close_matches(name, names, 1)
    return f"Did you mean {similar[0]}?" if similar else otherwise


#: The keys that lead to an entry; numbers count the entries of a list from 0.
Place = tuple[str | int, ...]

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\],\n]')
_TOML_KEY = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)"""
_TOML_KEYS = re.compile(rf"\s*({_TOML_KEY}(?:\s*\.\s*{_TOML_KEY})*)\s*=")
_TOML_HEADER = re.compile(r"\s*\[(\[?)(.+?)\]?\]\s*(?:#.*)?")


class ListError(SuppleError):
    """A list that a user wrote is not as it should be."""


@dataclass(frozen=True)
class ListFile:
    """A list as it was read.

    Args:
        path: its file.
        content: the entries.
        lines: the line of each entry, counted from 1.
    """

    path: Path
    content: dict[str, Any]
    lines: dict[Place, int]

    def error(self, place: Place, text: str) -> ListError:
        """An error that names the line of an entry, or of the nearest entry around it."""
        around = (place[:count] for count in range(len(place), 0, -1))
        line = next((self.lines[each] for each in around if each in self.lines), None)
        return ListError(f"{self.path.name}{'' if line is None else f', line {line}'}: {text}")

    def check_keys(self, table: Any, place: Place, known: Iterable[str], what: str) -> None:
        """Refuse unknown keys of a table.

        Raises:
            ListError: the first key of a table that is not known, with its line.
        """
        if not isinstance(table, dict):
            raise self.error(place, f"{what} must be a table, and is {table!r}.")
        names = list(known)
        for key in table:
            if key not in names:
                meant = suggestion(key, names, f"Known are {', '.join(names)}.")
                raise self.error((*place, key), f"{what} has no key {key!r}. {meant}")


def read(path: Path) -> ListFile:
    """Read a list; files that end in ``.json`` are JSON, all others TOML.

    Raises:
        ListError: it is missing, cannot be read, or is not of that format.
    """
    is_json = path.suffix.lower() == ".json"
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if is_json else tomllib.loads(text)
    except FileNotFoundError as error:
        raise ListError(f"{path} does not exist.") from error
    except OSError as error:
        raise ListError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ListError(f"{path.name} is not {'JSON' if is_json else 'TOML'}: {error}.") from error
    if not isinstance(content, dict):
        raise ListError(f"{path.name} must be an object of JSON, such as {{...}}.")
    return ListFile(path, content, _json_lines(text) if is_json else _toml_lines(text))


def _json_lines(text: str) -> dict[Place, int]:
    lines: dict[Place, int] = {}
    line, place = 1, list[str | int]()
    for token in _JSON_TOKEN.finditer(text):
        letter = token[0][0]
        if letter == "\n":
            line += 1
            continue
        if letter == "{":
            place.append("")
        elif letter == "[":
            place.append(0)
        elif letter in "}]":
            place.pop()
        elif letter == ",":
            if isinstance(place[-1], int):
                place[-1] += 1
        elif token[1]:
            place[-1] = json.loads(token[0].removesuffix(token[1]))
            lines.setdefault(tuple(place), line)
        if letter in "{[":
            lines.setdefault(tuple(place[:-1]), line)
    return lines


def _toml_lines(text: str) -> dict[Place, int]:
    lines: dict[Place, int] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if (header := _TOML_HEADER.fullmatch(line)) is not None:
            names = _toml_names(header[2])
            # The latest table of a list is meant.
            table = ()
            for name in names[:-1]:
                table = (*table, name)
                table = (*table, counts[table]) if table in counts else table
            table = (*table, names[-1]) if names else ()
            if header[1]:
                lines.setdefault(table, number)
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            lines.setdefault(table, number)
        elif (keys := _TOML_KEYS.match(line)) is not None:
            lines.setdefault((*table, *_toml_names(keys[1])), number)
    return lines


def _toml_names(dotted: str) -> list[str]:
    """The names of a dotted key; none where a line only looks like one, within a long text."""
    try:
        table: Any = tomllib.loads(f"{dotted} = 0")
    except tomllib.TOMLDecodeError:
        return []
    names = []
    while isinstance(table, dict):
        ((name, table),) = table.items()
        names.append(name)
    return names
