"""Check the English of docstrings, names, messages and pages by a few simple rules.

``python -m tools.prose`` lists the findings in all files, or in those whose paths begin with its
arguments, and fails where there are any.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

#: The pages that users read.
PAGES = ("README.md", "docs/user_guide.md", "docs/reference.md")
#: Folders whose texts users read: labels, tooltips, reports and errors.
MESSAGE_FOLDERS = ("addon/", "core/")
LONGEST_SENTENCE = 30

FORBIDDEN_FIRST_WORDS = frozenset({"Of", "What", "Those", "By", "How", "Where", "So"})
BANNED_NAMES = frozenset({"own", "found", "given", "kept", "wanted"})
BANNED_PREFIXES = ("of_", "by_")

# Words that are no nouns. A docstring that has no others does not name its subject.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after again all also an and another any are as at be been before behind
        being below beside between beyond both but by can cannot could did do does done each
        either else ever every few first for from further had has have he her here his how i
        if in into is it its itself just last least less made make makes many may might more
        most much must near neither no none nor not now of off often on once one only or
        other others our out over own rather same shall she should so some such than that
        the their theirs them themselves then there these they this those through to too two
        under until up upon was we were what when where whether which while who whom whose
        why will with within without would yet you your
        """,
    )
)
_HEADLESS = re.compile(
    r"(?:all|any|both|each|few|it|many|none|one|others?|some|such|these|they|this|which"
    r"|the (?:first|last|other|others|same))\s+(?P<next>[a-z]+)",
    re.IGNORECASE,
)
_SECTION = re.compile(r"(?:Args|Raises|Returns|Yields|Sources?):")
# Shapes, such as "(V, 3) of", and the word behind them.
_SHAPES = re.compile(r"(?:\([^()]*\)(?:,? and |, | or )?)+\s*(?P<next>[a-z]+)")
_BEFORE_NOUNS = frozenset({"a", "an", "least", "one", "the", "their", "whether"})
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+|\n\s*\n")
_WORD = re.compile(r"\S*\w\S*")


class Finding(NamedTuple):
    """A place that breaks a rule."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


# --- rules ------------------------------------------------------------------------------------


def python_findings(path: str, source: str) -> Iterator[Finding]:
    """Findings in a Python file.

    Args:
        path: relative to the repository, with slashes.
    """
    tree = ast.parse(source)
    docstrings = list(_docstrings(tree))
    for node in docstrings:
        if problem := docstring_problem(str(node.value)):
            yield Finding(path, node.lineno, *problem)
    if not path.startswith("tests/"):
        yield from _name_findings(path, tree)
    if path.startswith(MESSAGE_FOLDERS):
        yield from _message_findings(path, tree, {id(node) for node in docstrings})


def docstring_problem(docstring: str) -> tuple[str, str] | None:
    """The rule that a docstring breaks, and its first sentence; None for a good one."""
    first = re.split(r"(?<=[.:;])\s|\n\s*\n", docstring.strip(), maxsplit=1)[0]
    first = " ".join(first.split())
    words = re.findall(r"[A-Za-z]+", first)
    if words and words[0] in FORBIDDEN_FIRST_WORDS and first.startswith(words[0]):
        return "first word", first
    if _SECTION.match(first):
        return "summary", first
    headless = _HEADLESS.match(first)
    is_headless = headless is not None and headless["next"].lower() in _FUNCTION_WORDS
    if shapes := _SHAPES.match(first):
        is_headless = shapes["next"] in _FUNCTION_WORDS - _BEFORE_NOUNS
    if is_headless or (words and all(word.lower() in _FUNCTION_WORDS for word in words)):
        return "noun", first
    return None


def is_banned(name: str) -> bool:
    """Whether a name has no noun."""
    bare = name.strip("_")
    return bare in BANNED_NAMES or bare.startswith(BANNED_PREFIXES)


def long_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Offsets and texts of the sentences that have more than ``LONGEST_SENTENCE`` words."""
    start = 0
    for end in [*_SENTENCE_END.finditer(text), None]:
        sentence = text[start : end.start() if end else None]
        if len(_WORD.findall(sentence)) > LONGEST_SENTENCE:
            yield start, " ".join(sentence.split())
        start = end.end() if end else len(text)


def page_findings(path: str, source: str) -> Iterator[Finding]:
    """Findings in a Markdown page: long sentences outside of code and tables."""
    for offset, sentence in long_sentences(prose_of_page(source)):
        yield Finding(path, source.count("\n", 0, offset) + 1, "sentence", sentence)


def prose_of_page(source: str) -> str:
    """A Markdown page whose code, tables, headings and list markers are blank, with its lines."""
    lines, is_code = [], False
    for line in source.splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        is_item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
        if is_code or line.lstrip().startswith(("|", "#", "!", "```", "<")):
            lines.append(" " * max(len(line) - 1, 0) + "\n" if line else "")
        elif is_item:
            # The marker becomes the end of the paragraph before it.
            lines.append("\n" + " " * (is_item.end() - 1) + line[is_item.end() :])
        else:
            lines.append(line)
    return "\n".join(lines)


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr):
            value = node.body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def _name_findings(path: str, tree: ast.Module) -> Iterator[Finding]:
    """Each name once in a file, where it is defined first."""
    named: dict[str, int] = {}
    for node in ast.walk(tree):
        for name in _defined(node):
            if is_banned(name):
                line = getattr(node, "lineno", 1)
                named[name] = min(line, named.get(name, line))
    for name, line in named.items():
        yield Finding(path, line, "name", name)


def _defined(node: ast.AST) -> Sequence[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.arg):
        return (node.arg,)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return (node.id,)
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return (node.attr,)
    return ()


def _message_findings(path: str, tree: ast.Module, docstrings: set[int]) -> Iterator[Finding]:
    parts = set(docstrings)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(id(value) for value in node.values)
            text = "".join(
                str(value.value) if isinstance(value, ast.Constant) else "X"
                for value in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in parts or "\n    " in node.value:  # or it is code
                continue
            text = node.value
        else:
            continue
        for _, sentence in long_sentences(text):
            yield Finding(path, node.lineno, "sentence", sentence)


# --- command ----------------------------------------------------------------------------------


def findings_in(root: Path, files: Iterable[str]) -> list[Finding]:
    """All findings in some files, whose names are relative to the root."""
    findings: list[Finding] = []
    for name in files:
        source = (root / name).read_text(encoding="utf-8")
        find = python_findings if name.endswith(".py") else page_findings
        findings += find(name, source)
    return findings


def checked_files(root: Path) -> list[str]:
    """The Python files and the pages of a checkout that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "*.md"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return sorted({name for name in listed if (root / name).exists()})


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", help="what the paths of the files begin with")
    chosen = tuple(parser.parse_args(args).paths) or ("",)
    files = [name for name in checked_files(ROOT) if name.startswith(chosen)]
    findings = findings_in(ROOT, files)
    for finding in findings:
        print(finding)
    if findings:
        print("See the rules in tools/prose.py. Write a noun and a verb.")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
