# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists that users write know the line of each entry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from supple.core import list_file
from supple.core.list_file import ListError, suggestion

TOML = """# two shots
[all]
frames = "1-3"

[[shot]]
file = "a.blend"

[[shot]]
file = "b.blend"
"odd key" = '''
frames = 1
'''
settings.young = 3
[shot.more]
last = 1
"""
JSON = """{
  "all": {"frames": "1-3"},
  "shot": [
    {"file": "a.blend"},
    {"file": "b, [c].blend",
     "settings": {
       "young": 3}}
  ]
}"""


def written(folder: Path, text: str, ending: str) -> list_file.ListFile:
    path = folder / f"list.{ending}"
    path.write_text(text)
    return list_file.read(path)


def test_toml_entries_have_their_lines(tmp_path: Path) -> None:
    lines = written(tmp_path, TOML, "toml").lines
    wanted = {
        ("all",): 2,
        ("all", "frames"): 3,
        ("shot",): 5,
        ("shot", 0): 5,
        ("shot", 0, "file"): 6,
        ("shot", 1): 8,
        ("shot", 1, "odd key"): 10,
        ("shot", 1, "settings", "young"): 13,
        ("shot", 1, "more", "last"): 15,
    }
    assert {place: lines[place] for place in wanted} == wanted


def test_json_entries_have_their_lines(tmp_path: Path) -> None:
    listed = written(tmp_path, JSON, "json")
    wanted = {
        ("all", "frames"): 2,
        ("shot",): 3,
        ("shot", 0, "file"): 4,
        ("shot", 1): 5,
        ("shot", 1, "settings"): 6,
        ("shot", 1, "settings", "young"): 7,
    }
    assert {place: listed.lines[place] for place in wanted} == wanted
    assert listed.content["shot"][1]["settings"] == {"young": 3}


@pytest.mark.parametrize(("text", "ending"), [(TOML, "toml"), (JSON, "json")])
def test_an_unknown_key_is_named_with_its_line_and_a_near_one(tmp_path, text, ending) -> None:
    listed = written(tmp_path, text.replace("young", "yuong"), ending)
    line = 13 if ending == "toml" else 7
    place = ("shot", 1, "settings")
    said = f"list.{ending}, line {line}: shot 2 has no key 'yuong'. Did you mean young?"
    with pytest.raises(ListError, match=f"^{re.escape(said)}$"):
        listed.check_keys(listed.content["shot"][1]["settings"], place, ["young"], "shot 2")


def test_an_entry_within_a_line_has_the_line_around_it(tmp_path: Path) -> None:
    listed = written(tmp_path, "a = { b = 1 }", "toml")
    assert str(listed.error(("a", "b"), "no")) == "list.toml, line 1: no"


@pytest.mark.parametrize(
    ("text", "ending", "said"),
    [
        ("a = \nb = 1", "toml", r"list\.toml is not TOML: .*line 1"),
        ("{", "json", r"list\.json is not JSON: .*line 1"),
        ("[1]", "json", r"list\.json must be an object of JSON"),
        ("\xff", "toml", r"list\.toml is not TOML"),
    ],
)
def test_what_is_no_list_is_refused(tmp_path: Path, text: str, ending: str, said: str) -> None:
    path = tmp_path / f"list.{ending}"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ListError, match=said):
        list_file.read(path)


def test_a_missing_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(ListError, match=r"none\.toml does not exist"):
        list_file.read(tmp_path / "none.toml")
    with pytest.raises(ListError, match="cannot be read"):
        list_file.read(tmp_path)


NAMES = ["young", "poisson", "density"]


def test_the_most_similar_name_is_suggested() -> None:
    assert suggestion("yuong", NAMES) == "Did you mean young?"


def test_without_a_similar_name_the_text_is_the_other_one() -> None:
    assert suggestion("colour", NAMES) == ""
    assert suggestion("colour", NAMES, "Known are young, poisson, density.") == (
        "Known are young, poisson, density."
    )
