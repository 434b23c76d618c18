# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the English: its rules, and its record that only shrinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from supple.tools import prose

LONG = " ".join(["word"] * 31)


def rules(path: str, source: str) -> list[str]:
    return [finding.rule for finding in prose.python_findings(path, source)]


@pytest.mark.parametrize("word", sorted(prose.FORBIDDEN_FIRST_WORDS))
def test_a_docstring_may_not_begin_without_its_subject(word: str) -> None:
    assert rules("core/a.py", f'"""{word} the bodies that touch."""') == ["first word"]
    assert rules("core/a.py", f'"""The bodies, {word.lower()} they touch."""') == []


def test_docstrings_of_classes_and_functions_are_read_too() -> None:
    source = 'class Body:\n    """A body."""\n    def mass(self):\n        """Of a body."""\n'
    (finding,) = prose.python_findings("core/a.py", source)
    assert finding.rule == "first word" and finding.line == 4


@pytest.mark.parametrize(
    "docstring",
    [
        "One for each of them.",
        "The same of others, in kg.",
        "Whether it is there.",
        "All that can be made.",
        "Which of the vertices move.",
        "(3, N) of gravity and goals, in newtons.",
        "(K, 4) and (K,) what each vertex counts.",
    ],
)
def test_a_docstring_needs_a_noun_at_its_head(docstring: str) -> None:
    assert rules("core/a.py", f'"""{docstring}"""') == ["noun"]


def test_a_docstring_begins_with_a_summary_and_not_with_a_section() -> None:
    assert rules("core/a.py", '"""\n    Raises:\n        Error: always.\n"""') == ["summary"]


@pytest.mark.parametrize(
    "docstring",
    [
        "Return the free mass of each body, in kg.",
        "One row for each setting.",
        "All bodies of a scene.",
        "Whether two surfaces touch.",
        "(V, 3) positions in metres.",
        "(F,) whether triangles have an area.",
        "Raises ``SceneError``.",
    ],
)
def test_plain_docstrings_pass(docstring: str) -> None:
    assert rules("core/a.py", f'"""{docstring}"""') == []


@pytest.mark.parametrize(
    "source",
    [
        "own = 1",
        "found: int = 1",
        "def of_nodes(): pass",
        "def forces(given): pass",
        "self.by_pair = 1",
        "_kept = 1",
        "for _wanted in (): pass",
        "class Found: pass\nfound = Found()",
        "def f(): return [own for own in ()]",
    ],
)
def test_names_without_a_noun_are_refused_outside_of_tests(source: str) -> None:
    assert rules("core/a.py", source) == ["name"]
    assert rules("tests/core/a.py", source) == []


def test_names_with_a_noun_and_names_of_others_pass() -> None:
    source = "own_process = found_pair = body.of\nprint(found)\nmodule.given()\noffset = 1"
    assert rules("core/a.py", source) == []


def test_long_sentences_of_messages_are_refused() -> None:
    assert rules("addon/a.py", f'report("{LONG}.")') == ["sentence"]
    assert rules("core/a.py", f'raise Error(f"{{name}} {LONG[:-5]}")') == ["sentence"]
    assert rules("core/a.py", f'raise Error(f"{{name}} {LONG[:-10]}")') == []
    assert rules("tools/a.py", f'report("{LONG}.")') == []
    half = " ".join(["word"] * 16)
    assert rules("addon/a.py", f'report("{half}. {half}")') == []
    assert rules("addon/a.py", f'report("{half}; {half}")') == ["sentence"]


def test_pages_are_read_without_their_code_and_tables() -> None:
    page = f"# {LONG}\n\n| {LONG} |\n\n```\n{LONG}\n```\n\nGood.\n\n- {LONG}\n"
    (finding,) = prose.page_findings("README.md", page)
    assert finding.rule == "sentence" and finding.line == 11


def test_items_of_a_list_are_sentences_of_their_own() -> None:
    half = " ".join(["word"] * 16)
    assert not list(prose.page_findings("README.md", f"- {half}\n- {half}\n"))
    assert list(prose.page_findings("README.md", f"- {half}\n  {half}\n"))


def test_the_command_fails_on_any_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "core" / "body.py"
    source.parent.mkdir()
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "checked_files", lambda root: ["core/body.py"])

    source.write_text("mass = given = 1\n")
    assert prose.main([]) == prose.main(["core/b"]) == 1
    assert "core/body.py:1: name: given" in capsys.readouterr().out
    assert prose.main(["addon/"]) == 0
    source.write_text("mass = 1\n")
    assert prose.main([]) == 0


def test_the_checked_files_are_those_of_the_repository() -> None:
    files = prose.checked_files(prose.ROOT)
    assert {"dev.py", "tools/prose.py", "README.md", "docs/user_guide.md"} <= set(files)
    assert not [name for name in files if name.startswith((".venv/", "build/"))]
