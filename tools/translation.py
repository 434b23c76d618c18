"""Write the file of a language with all texts of the interface, to be filled in.

``python -m supple.tools.translation de_DE`` keeps what the file has, adds new texts with an empty
translation, and removes texts that the interface no longer has. Needs the bpy wheel.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Folders and files of sources with messages that the window shows; kernels have none.
MESSAGE_SOURCES = (
    *("addon", "core/geometry", "core/job", "core/meshing", "core/preparation"),
    *("core/scene", "core/potentials", "core/integrators", "core/adjoint", "core/minimizers"),
    *("core/results", "core/linear_solvers/direct.py", "core/materials/material.py"),
    *("core/materials/st_venant_kirchhoff.py", "core/compiled.py"),
    *("core/errors.py", "core/releases.py", "core/settled_start.py", "core/simulator.py"),
    *("core/state.py", "core/list_file.py"),
)
_TWO_WORDS = re.compile(r"[A-Za-z]{2,}[.,:;!?]? [A-Za-z0-9{]")


def interface_texts() -> list[str]:
    """All labels, tooltips and messages, each once.

    Names and numbers in messages are ``{0}``, ``{1}`` and so on, in the order of the sentence.
    """
    from supple import addon

    texts = [*labels(addon.CLASSES)]
    for source in map(ROOT.joinpath, MESSAGE_SOURCES):
        for path in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
            texts += message_templates(path.read_text(encoding="utf-8"))
    return list(dict.fromkeys(texts))


def message_templates(source: str) -> Iterator[str]:
    """The strings of a Python source that have two words or more, without docstrings."""
    tree = ast.parse(source)
    skipped = {id(node) for node in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node) if part is not node)
            text = _template(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if id(node) not in skipped and "\n" not in text and _TWO_WORDS.search(text):
            yield text


def _template(node: ast.JoinedStr) -> str:
    text, count = "", 0
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
        else:
            text += f"{{{count}}}"
            count += 1
    return text


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value


def labels(classes: Iterable[Any]) -> Iterator[str]:
    """Labels and tooltips of registered classes, their properties and the choices of menus."""
    for cls in classes:
        described = getattr(cls, "bl_rna", None)
        yield from filter(None, (getattr(cls, "bl_label", ""), getattr(cls, "bl_description", "")))
        for prop in described.properties if described is not None else ():
            if prop.is_runtime and not prop.is_hidden:
                yield from filter(None, (prop.name, prop.description))
                for item in getattr(prop, "enum_items", ()):
                    yield from filter(None, (item.name, item.description))


def write(path: Path, texts: Iterable[str]) -> None:
    """Write the file of a language, with the translations that it had."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    table = {text: known.get(text, "") for text in texts}
    path.write_text(json.dumps(table, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    from supple import addon
    from supple.addon import translations

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locale", help="such as de_DE, as Blender names it")
    addon.register()
    path = translations.FOLDER / f"{parser.parse_args().locale}.json"
    write(path, interface_texts())
    print(path)


if __name__ == "__main__":
    main()
