# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of a sweep."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from supple.core.errors import SceneError
from supple.core.list_file import ListError
from supple.core.sweep import Span, read
from supple.core.sweep.sweep_file import located

WHOLE = """
frames = 3
samples = 2
seed = 5
measures = "more.py"
[grid]
"Cube.001.young" = [1e4, 2e4]
ground.friction = { from = 0.1, to = 0.9, count = 5 }
integrator = "bdf2"
[list]
Cube.density = [500, 1000]
[random]
"Cube.damping" = { from = 0.1, to = 10, log = true }
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def test_a_list_says_what_is_varied_with_dots_or_quotes(tmp_path: Path) -> None:
    (tmp_path / "more.py").touch()
    sweep, script = read(written(tmp_path, WHOLE))
    assert script == tmp_path / "more.py"
    assert sweep.grid == {
        "Cube.001.young": [1e4, 2e4],
        "ground.friction": Span(0.1, 0.9, 5),
        "integrator": ["bdf2"],
    }
    assert sweep.lists == {"Cube.density": [500, 1000]}
    assert sweep.random == {"Cube.damping": Span(0.1, 10, is_log=True)}
    assert (sweep.frames, sweep.samples, sweep.seed, len(sweep)) == (3, 2, 5, 40)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("samplez = 2\n[grid]\na = [1]", "line 1: The sweep has no key 'samplez'. Did you mean"),
        ("", "nothing is varied"),
        ("[grid]\na = []", "line 2: a needs a list of values, or limits."),
        ("[grid]\na = {from = 1, to = 2, steps = 3}", "line 2: a has no key 'steps'."),
        ("[grid]\na = {from = 1}", "line 2: a needs the limit 'to'."),
        ("[random]\na = {from = 0, to = 2, log = true}", "line 2: a: The limits must be above 0"),
        ("[list]\na = [1]\nb = [1, 2]", "The lists must have as many values"),
        ("samples = 0\n[grid]\na = [1]", "line 1: samples must be a whole number from 1"),
        ("grid = 3", "line 1: [grid] must be a table of settings."),
        ("measures = 'none.py'\n[grid]\na = [1]", "line 1: "),
        ("[grid]\na = 1\n[random]\na = [1]", "line 2: a is varied twice."),
        ("[grid]\na = [1]\n'a b.c' = []", "line 3: a b.c needs a list of values, or limits."),
        ("[grid]\n[grid.a]\nb.c = []", "line 3: a.b.c needs a list of values, or limits."),
    ],
)
def test_a_wrong_list_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ListError, match=rf"^sweep\.toml(, |: ){re.escape(said)}"):
        read(written(tmp_path, text))


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(ListError, match=r"none\.py does not exist"):
        read(written(tmp_path, "measures = 'none.py'\n[grid]\na = [1]"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a b.c: there is no 'c'.", 4),
        ("a: it is no such thing.", 3),
        ("ground.friction, a: below 0.", 6),
        ("samples are few.", 1),
        ("ab: there is none.", None),
    ],
)
def test_an_error_on_the_scene_has_the_line_of_its_setting(
    tmp_path: Path, text: str, line: int | None
) -> None:
    listed = "samples = 2\n[grid]\na = [1]\n'a b.c' = [1]\n[random.ground]\nfriction = {from = 0}"
    where = "sweep.toml" if line is None else f"sweep.toml, line {line}"
    assert str(located(written(tmp_path, listed), SceneError(text))) == f"{where}: {text}"
