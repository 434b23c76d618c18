# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of a batch: commands and files.

::

    [all]                       # of all shots
    do = "bake"                 # or simulate, or render

    [[shot]]
    file = "shots/bear.blend"   # from the folder of the list
    frames = "1-120"
    settings = { "Bear.young" = 2e4, ground_height = 0.1 }
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import list_file
from ...core.errors import SuppleError
from ...core.list_file import ListFile, Place
from ...core.version import version
from ..settings.assign import check_name

#: The endings of the names of written files and folders.
ENDINGS = {"simulate": "", "bake": "_baked.blend", "render": "_frames"}
# Keys that are options of the command line, which checks their values.
_OPTIONS = ("frames", "pre_roll", "device", "integrator", "substeps", "results")
_KEYS = ("name", "file", "scene", "do", "output", "cache", "step", "keys", "settings", *_OPTIONS)


Problem = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Shot:
    """One shot of a batch.

    Args:
        name: of its files in the report.
        file: the .blend file.
        scene: the name of a scene; empty for the active one.
        command: ``simulate``, ``bake`` or ``render``.
        output: the file or folder that the command writes; None of ``simulate``.
        options: the options of the command.
    """

    name: str
    file: Path
    scene: str
    command: str
    output: Path | None
    options: tuple[str, ...]

    def fingerprint(self) -> str:
        """The digest of a shot, which changes with the file, the command, its options and the
        version of Supple."""
        status = self.file.stat()
        what = [version(), self.command, str(self.file), self.scene, *self.options]
        content = json.dumps([*what, status.st_mtime_ns, status.st_size])
        return hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()[:12]


def read(path: Path, problem: Problem) -> list[Shot]:
    """Read and check the list of a batch.

    Args:
        path: of the list.
        problem: the error of the command line in a command and its options; empty for none.

    Raises:
        SuppleError: the list is not right; the line is named.
    """
    listed = list_file.read(path)
    listed.check_keys(listed.content, (), ("all", "shot"), "The list")
    common = listed.content.get("all", {})
    listed.check_keys(common, ("all",), (key for key in _KEYS if key != "name"), "[all]")
    entries = listed.content.get("shot")
    if not isinstance(entries, list) or not entries:
        raise listed.error(("shot",), "the list has no shots. Begin each with a line [[shot]].")
    for index, entry in enumerate(entries):
        listed.check_keys(entry, ("shot", index), _KEYS, f"shot {index + 1}")
    whole = [{**common, **entry} for entry in entries]
    for index, (each, entry) in enumerate(zip(whole, entries, strict=True)):
        places = {("all", "settings"): common, ("shot", index, "settings"): entry}
        each["settings"] = {}
        for place, table in places.items():
            settings = table.get("settings", {})
            if not isinstance(settings, dict):
                raise listed.error(place, "settings must be a table of names and values.")
            each["settings"] |= settings
    uses = Counter(str(each.get("file")) + str(each.get("scene")) for each in whole)
    shots = []
    for index, each in enumerate(whole):
        is_shared = uses[str(each.get("file")) + str(each.get("scene"))] > 1
        shots.append(_shot(listed, ("shot", index), each, is_shared, problem))
    _check_names(listed, shots)
    _check_outputs(listed, shots)
    return shots


def _shot(
    listed: ListFile, place: Place, entry: dict[str, Any], is_shared: bool, problem: Problem
) -> Shot:
    texts = {}
    for key in ("name", "file", "scene", "do", "output", "cache", "keys"):
        texts[key] = entry.get(key, "")
        if not isinstance(texts[key], str):
            raise listed.error((*place, key), f"{key} must be a text, and is {entry[key]!r}.")
    if not texts["file"]:
        raise listed.error(place, f"shot {int(place[1]) + 1} has no file.")
    folder = listed.path.absolute().parent
    file = folder / texts["file"]
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise listed.error((*place, "file"), f"{file} {what}.")
    command = texts["do"] or "bake"
    if command not in ENDINGS:
        known = ", ".join(ENDINGS)
        raise listed.error((*place, "do"), f"do must be one of {known}, not {command!r}.")
    name = texts["name"] or file.stem
    if set(name) & set('/\\:*?"<>|') or name.startswith("."):
        raise listed.error((*place, "name"), f"{name!r} cannot be the name of a file.")
    output = None
    if command != "simulate":
        output = folder / (texts["output"] or file.with_name(name + ENDINGS[command]))
    elif texts["output"]:
        raise listed.error((*place, "output"), "simulate writes no output. Name a cache instead.")
    cache = texts["cache"] and str(folder / texts["cache"])
    if is_shared:
        # A scene keeps its two latest runs in a cache: shots of one file need one each.
        cache = str(Path(cache or file.parent / "supple_cache") / name)
    options = _options(listed, place, entry, command, problem)
    options += ["--cache", cache] if cache else []
    options += ["--output", str(output)] if output is not None else []
    return Shot(name, file, texts["scene"], command, output, tuple(options))


def _options(
    listed: ListFile, place: Place, entry: dict[str, Any], command: str, problem: Problem
) -> list[str]:
    options = []
    for key in (*_OPTIONS, "step", "keys"):
        if key not in entry:
            continue
        if key in ("step", "keys") and command != "bake":
            raise listed.error(
                (*place, key), f"{key} is an option of bake, and this shot does {command}."
            )
        value = entry[key]
        if isinstance(value, list):
            value = ("-" if key == "frames" else ",").join(map(str, value))
        options.append(f"--{key.replace('_', '-')}={value}")
        if text := problem([command, options[-1]]):
            raise listed.error((*place, key), text)
    for name, value in entry["settings"].items():
        try:
            check_name(name)
        except SuppleError as error:
            raise listed.error((*place, "settings", name), str(error)) from error
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        options.append(f"--set={name}={text}")
    return options


def _check_names(listed: ListFile, shots: list[Shot]) -> None:
    """Names become those of files, also on disks for which a and A are one."""
    first: dict[str, int] = {}
    for index, shot in enumerate(shots):
        other = first.setdefault(shot.name.lower(), index)
        if other != index:
            raise listed.error(
                ("shot", index),
                f"shots {other + 1} and {index + 1} are both named {shot.name}. Give one of them "
                "another name.",
            )


def _check_outputs(listed: ListFile, shots: list[Shot]) -> None:
    inputs = {shot.file.resolve(): shot for shot in shots}
    first: dict[Path, int] = {}
    for index, shot in enumerate(shots):
        if shot.output is None:
            continue
        output = shot.output.resolve()
        place = ("shot", index, "output")
        if output in inputs:
            raise listed.error(
                place,
                f"{shot.name} would overwrite {output}, the file of {inputs[output].name}. Name "
                "another output.",
            )
        other = first.setdefault(output, index)
        if other != index:
            raise listed.error(
                place,
                f"{shots[other].name} and {shot.name} have one output, {output}. Name another one "
                "for one of them.",
            )
