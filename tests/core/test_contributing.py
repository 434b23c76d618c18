# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

from supple import core

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


def test_no_constant_of_a_file_is_written_over_by_another_of_its_name() -> None:
    twice = []
    for path, source in sources_in("core", "addon", "verification").items():
        names = [
            name.id
            for statement in ast.parse(source).body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        ]
        twice += [f"{path}: {name}" for name in set(names) if names.count(name) > 1]
    assert twice == []


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


CORE = Path(core.__file__).parent

#: Modules with imports of others inside of functions, and why these are not loaded before.
LATE = {
    "__main__": "a worker that is told to wait says so before it loads the solver",
    "geometry.triangles": "Blender's process loads it, which has no numba",
    "job.tiny_scenes": "Blender's process reads how many there are, and has no torch",
    "job.warm_up": "the worker says which modules it loads, and how far it is",
    "job.worker": "a worker that waits begins without the solver",
    "materials.material": "Blender's process describes materials, and has no torch",
    "meshing": "Blender's process names the ways to mesh, and has no numba",
    "potentials.registry": "scenes without stitches need no sparse matrices of scipy",
    "preparation.prepared": "scenes that touch nothing need no search for intersections",
    "sweep.driver": "plans need no solver, and the runs are those of other processes",
    "system": "scenes without damping need no graphs of scipy",
}


def modules() -> dict[str, Path]:
    """Files by the names of their modules within the core; the core itself is ``""``."""
    named = {}
    for path in CORE.rglob("*.py"):
        parts = path.relative_to(CORE).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


NAMED = modules()


def imports_within_core(name: str, node: ast.AST) -> Iterator[str]:
    """The modules of the core that an import within ``name`` loads, and their packages; those of
    ``name`` itself are loaded already."""
    if not isinstance(node, ast.ImportFrom) or not node.level:
        return
    parts = name.split(".") if name else []
    level = node.level - (NAMED[name].name == "__init__.py")
    package = [*parts[: len(parts) - level], *filter(None, (node.module or "").split("."))]
    for alias in node.names:
        whole = ".".join([*package, alias.name])
        module = whole if whole in NAMED else ".".join(package)
        levels = module.split(".")
        packages = [".".join(levels[:count]) for count in range(1, len(levels) + 1)]
        yield from (each for each in packages if not f"{name}.".startswith(f"{each}."))


def graph() -> dict[str, set[str]]:
    """The imports of each module, at any time and for type checkers alone."""
    return {
        name: {
            module
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            for module in imports_within_core(name, node)
        }
        for name, path in NAMED.items()
    }


def without_circles(imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """The modules in circles: the rest when modules without remaining imports are removed."""
    left = dict(imports)
    while ends := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in ends}
    return left


def test_every_import_is_of_a_module_that_there_is() -> None:
    imports = graph()
    assert len(imports) > 100 and len(imports["system"]) > 5
    assert set().union(*imports.values()) <= NAMED.keys()


def test_no_module_imports_itself_through_others() -> None:
    circle: dict[str, set[str]] = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}
    assert without_circles(circle).keys() == {"a", "b", "c"}
    left = without_circles(graph())
    assert not left, f"some of these import each other in a circle: {', '.join(sorted(left))}"


def test_modules_are_imported_inside_of_functions_where_there_is_a_reason_alone() -> None:
    late = {
        name
        for name, path in NAMED.items()
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if any(imports_within_core(name, node))
    }
    assert late == LATE.keys()
