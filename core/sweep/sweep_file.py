# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of a sweep, in TOML or JSON.

::

    frames = 48                     # of each run; default: those of the scene
    samples = 20                    # random ones
    seed = 1
    threads = 1                     # of each run
    measures = "measures.py"        # has a function measure(job), whose result is a dict

    [grid]                          # all combinations
    "Cube.young" = [1e4, 3e4]
    ground.friction = { from = 0.1, to = 0.9, count = 5 }

    [list]                          # the first of all, then the second
    "Cube.density" = [500, 1000]
    "Cube.poisson" = [0.3, 0.4]

    [random]
    "Cube.damping" = { from = 0.1, to = 10, log = true }
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .. import list_file
from ..errors import SceneError
from ..list_file import ListError, ListFile, Place
from .plan import Axis, Span, Sweep

_NUMBERS = ("frames", "samples", "seed", "threads")
_PARTS = {"grid": "grid", "list": "lists", "random": "random"}
_SPAN = {"from": "start", "to": "end", "count": "count", "log": "is_log"}


def read(path: Path) -> tuple[Sweep, Path | None]:
    """Read the list of a sweep, and the path of its script of measures.

    Raises:
        ListError: the list is not right; the line is named.
    """
    listed = list_file.read(path)
    content = listed.content
    listed.check_keys(content, (), (*_NUMBERS, "measures", *_PARTS), "The sweep")
    parts: dict[str, Any] = {
        member: _axes(listed, (part,), content.get(part, {})) for part, member in _PARTS.items()
    }
    if not any(parts.values()):
        raise listed.error((), "nothing is varied. Name settings under [grid], [list] or [random].")
    try:
        sweep = Sweep(**parts, **{name: content[name] for name in _NUMBERS if name in content})
    except SceneError as error:
        raise _located(listed, error) from error
    return sweep, _script(listed)


def located(path: Path, error: SceneError) -> ListError:
    """An error on a setting of a list, with the line of that setting."""
    return _located(list_file.read(path), error)


def _located(listed: ListFile, error: SceneError) -> ListError:
    """An error on a setting of a list that was read. It begins with the name of the setting."""
    text = str(error)
    places: dict[str, Place] = {name: (name,) for name in _NUMBERS}
    for part in _PARTS:
        places = _places((part,), listed.content.get(part, {})) | places
    named = max((name for name in places if _begins_with(text, name)), key=len, default="")
    return listed.error(places.get(named, ()), text)


def _begins_with(text: str, name: str) -> bool:
    return re.match(rf"{re.escape(name)}(?![\w.])", text) is not None


def _places(place: Place, table: dict[str, Any]) -> dict[str, Place]:
    """The entries by the names of settings, as ``_axes`` has them."""
    places: dict[str, Place] = {}
    for name, value in table.items():
        at = (*place, name)
        if _is_table(value):
            places |= {f"{name}.{rest}": inner for rest, inner in _places(at, value).items()}
        else:
            places[name] = at
    return places


def _is_table(value: Any) -> bool:
    """Whether a value is a table of settings, and not the values of one."""
    return isinstance(value, dict) and not ("from" in value or "to" in value)


def _axes(listed: ListFile, place: Place, table: Any) -> dict[str, Axis]:
    """The values by the names of settings; dots of names may come from tables."""
    if not isinstance(table, dict):
        raise listed.error(place, f"[{place[0]}] must be a table of settings.")
    axes: dict[str, Axis] = {}
    for name, value in table.items():
        at = (*place, name)
        if _is_table(value):
            inner = _axes(listed, at, value)
            axes |= {f"{name}.{rest}": axis for rest, axis in inner.items()}
        elif isinstance(value, dict):
            listed.check_keys(value, at, _SPAN, name)
            missing = [key for key in ("from", "to") if key not in value]
            if missing:
                raise listed.error(at, f"{name} needs the limit {missing[0]!r}.")
            try:
                axes[name] = Span(**{_SPAN[key]: part for key, part in value.items()})
            except SceneError as error:
                raise listed.error(at, f"{name}: {error}") from error
        else:
            axes[name] = value if isinstance(value, list) else [value]
    return axes


def _script(listed: ListFile) -> Path | None:
    name = listed.content.get("measures")
    if name is None:
        return None
    if not isinstance(name, str):
        raise listed.error(("measures",), "measures must be the path of a Python file.")
    script = listed.path.absolute().parent / name
    if not script.is_file():
        raise listed.error(("measures",), f"{script} does not exist.")
    return script
