# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("addon", "core", "docs", "tests", "verification")
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_files_that_a_contributor_is_sent_to_are_there() -> None:
    named = [path for path in re.findall(r"`([\w/.]+)`", TEXT) if path.split("/")[0] in FOLDERS]
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_commands_that_it_names_are_those_of_dev() -> None:
    commands = set(re.findall(r'^    "(\w+)": command_', (ROOT / "dev.py").read_text(), re.M))
    assert set(re.findall(r"python3 dev\.py (\w+)", TEXT)) == commands - {"blender"}


def test_packages_and_files_import_each_other_in_one_direction() -> None:
    modules = {name_of(path): path for path in sources_in("core", "addon")}
    files = {path: imported(path, modules) for path in modules.values()}
    packages: dict[str, set[str]] = {}
    for path, others in files.items():
        packages.setdefault(package_of(path), set()).update(map(package_of, others))
    assert len(packages["core/integrators"]) > 5
    # Raises CycleError, which says what is in the circle.
    TopologicalSorter(files).prepare()
    TopologicalSorter(
        {package: others - {package} for package, others in packages.items()}
    ).prepare()


def test_what_is_compiled_imports_little() -> None:
    """A loop is compiled anew where a file changes that its own file imports."""
    sources = sources_in("core")
    compiled = {path for path, source in sources.items() if "\n@compiled(" in source}
    assert len(compiled) > 30
    modules = {name_of(path): path for path in sources}
    others = {other for path in compiled for other in imported(path, modules)} - compiled
    packages = {package_of(other) for other in others}
    assert packages <= {"core/compiled.py", "core/kernels", "core/materials", "core/math3"}


def sources_in(*folders: str) -> dict[str, str]:
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def name_of(path: str) -> str:
    return ".".join(("supple", *Path(path).with_suffix("").parts)).removesuffix(".__init__")


def package_of(path: str) -> str:
    """The folder in core or addon; what lies beside those is a package of its own."""
    return "/".join(Path(path).parts[:2])


def imported(path: str, modules: dict[str, str]) -> set[str]:
    """The modules that are loaded with a file."""
    package = ".".join(("supple", *Path(path).parts[:-1]))
    found = set()
    for statement in loaded(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        base = resolve_name("." * statement.level + (statement.module or ""), package)
        for alias in statement.names:
            other = modules.get(f"{base}.{alias.name}") or modules.get(base)
            if other and other != path:
                found.add(other)
    return found


def loaded(node: ast.AST) -> Iterator[ast.ImportFrom]:
    """Imports of its own, without those of functions and for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            yield child
        elif not isinstance(child, ast.FunctionDef | ast.If):
            yield from loaded(child)
