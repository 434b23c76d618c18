# SPDX-License-Identifier: GPL-3.0-or-later
"""Which modules of the core import which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from supple import core

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


def imported(name: str, node: ast.AST) -> Iterator[str]:
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
            for module in imported(name, node)
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
        if any(imported(name, node))
    }
    assert late == LATE.keys()
