# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supple.core import compiled, kernels
from supple.tests.core import apart

# Turned and stretched matrices: each is rounded alike, or not.
ROUNDED = """
import sys
import numpy as np
from supple.core.compiled import compiled

# What it calls is compiled and kept where it is, too.
del sys.modules["supple.core.kernels.deformation"]
from supple.core.kernels.deformation import signed_svd
from supple.core.math3.matrices import matrix_of

@compiled(parallel=True)
def factors(matrices, out):
    for m in range(len(matrices)):
        u, s, v = signed_svd(matrix_of(matrices[m]))
        for k in range(3):
            out[m, 1, 0, k] = s[k]
            for i in range(3):
                out[m, 0, k, i], out[m, 2, k, i] = u[k][i], v[k][i]

matrices = np.eye(3) + np.random.default_rng(1).normal(scale=0.1, size=(200, 3, 3))
out = np.zeros((200, 3, 3, 3))
factors(matrices, out)
print(out.tobytes().hex(), sum(factors.stats.cache_hits.values()))
"""


def test_loops_compiled_anew_give_the_bits_of_those_taken_from_the_disk(tmp_path: Path) -> None:
    (tmp_path / "rounded.py").write_text(ROUNDED)
    compiled, reused = (
        apart.printed_by("rounded", tmp_path, tmp_path / "kept").split() for _ in range(2)
    )
    assert (compiled[1], reused[1]) == ("0", "1")
    assert compiled[0] == reused[0]


SUM = """
import numpy
from supple.core.compiled import compiled

@compiled()
def total(numbers):
    found = 0.0
    for i in range(len(numbers)):
        found += numbers[i]
    return found

print(total(numpy.tile([1e16, 1.0, -1e16, 1.0], 64)))
"""


def test_sums_of_compiled_loops_are_in_the_order_they_are_written(tmp_path: Path) -> None:
    """In lanes of a vector, each with sums of its own, every 1 would count."""
    (tmp_path / "total.py").write_text(SUM)
    assert apart.printed_by("total", tmp_path, tmp_path / "kept") == "1.0\n"


KERNEL = """
from typing import NamedTuple
from supple.core.compiled import compiled

class Pair(NamedTuple):
    first: float

@compiled()
def double(pair):
    return 2.0 * pair.first

print(double(Pair(21.0)), sum(double.stats.cache_hits.values()))
"""


def _rename(kernel: Path, cache: Path) -> None:
    """As an update does; the loops kept still name the type that is gone."""
    kernel.write_text(KERNEL.replace("Pair", "Two"))


def _cut_index(kernel: Path, cache: Path) -> None:
    (index,) = cache.rglob("*.nbi")
    index.write_bytes(index.read_bytes()[:-20])


def _cut_loop(kernel: Path, cache: Path) -> None:
    (loop,) = cache.rglob("*.nbc")
    loop.write_bytes(loop.read_bytes()[:100])


@pytest.mark.parametrize("damage", [_rename, _cut_index, _cut_loop], ids=lambda d: d.__name__)
def test_what_was_kept_and_cannot_be_read_is_compiled_anew(
    tmp_path: Path, damage: Callable[[Path, Path], None]
) -> None:
    kernel, cache = tmp_path / "kernel.py", tmp_path / "kept"
    kernel.write_text(KERNEL)

    def run() -> str:
        return apart.printed_by("kernel", tmp_path, cache)

    assert (run(), run()) == ("42.0 0\n", "42.0 1\n")
    damage(kernel, cache)
    assert (run(), run()) == ("42.0 0\n", "42.0 1\n")


CALLER = """
from supple.core.compiled import compiled
from .callee import SHARE, part

@compiled()
def whole(x):
    return part(x) + SHARE

print(whole(20.0), sum(whole.stats.cache_hits.values()))
"""
CALLEE = """
from supple.core.compiled import compiled

SHARE = 2.0

@compiled()
def part(x):
    return 2.0 * x
"""


@pytest.mark.parametrize(
    ("changed", "answer"), [("2.0 * x", "62.0"), ("SHARE = 2.0", "43.0")], ids=["loop", "constant"]
)
def test_a_loop_is_compiled_anew_where_what_it_takes_from_another_file_changed(
    tmp_path: Path, changed: str, answer: str
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER)
    (package / "callee.py").write_text(CALLEE)

    def run() -> str:
        return apart.printed_by("package.caller", tmp_path, tmp_path / "kept")

    assert (run(), run()) == ("42.0 0\n", "42.0 1\n")
    (package / "callee.py").write_text(CALLEE.replace(changed, changed.replace("2.0", "3.0")))
    assert (run(), run()) == (f"{answer} 0\n", f"{answer} 1\n")


PARTS = """
from supple.core.compiled import compiled

@compiled()
def part(x):
    return 2 * x

@compiled()
def whole(x):
    return part(x) + 2.0
"""


def test_what_a_loop_calls_is_compiled_once_more_where_python_calls_it(tmp_path: Path) -> None:
    called = "parts.whole(20.0), parts.part(21.0), parts.whole(20), parts.part(21)"
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "a_loop.py").write_text("import parts; print(parts.whole(20.0))")
    (tmp_path / "both.py").write_text(
        "import gc, parts\n"
        f"print({called}, sum(parts.part.stats.cache_hits.values()), gc.isenabled())"
    )
    cache = tmp_path / "kept"
    assert apart.printed_by("a_loop", tmp_path, cache) == "42.0\n"
    assert apart.printed_by("both", tmp_path, cache) == "42.0 42.0 42.0 42 0 True\n"
    assert apart.printed_by("both", tmp_path, cache) == "42.0 42.0 42.0 42 2 True\n"


SLOW = """
from supple.core.compiled import compiled

@compiled(parallel=True, allocates=True)
def total(x):
    return (x * x + 2.0 * x).sum()

import numpy
total(numpy.ones(3))
print(sum(total.stats.cache_hits.values()))
"""


def test_of_two_processes_one_compiles_and_the_other_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    outputs = [tmp_path / "one.txt", tmp_path / "other.txt"]
    both = [
        apart.started(apart.run_module, "slow", tmp_path, tmp_path / "kept", output)
        for output in outputs
    ]
    for process in both:
        process.join()
    assert sorted(output.read_text() for output in outputs) == ["0\n", "1\n"]


@pytest.mark.parametrize("before", [None, "7"])
@pytest.mark.parametrize(
    ("variable", "shorter"), [("GOMP_SPINCOUNT", "1000"), ("OPENBLAS_THREAD_TIMEOUT", "10")]
)
def test_threads_stop_waiting_in_busy_loops_unless_they_are_told_to(
    variable: str, shorter: str, before: str | None
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != variable}
    if before is not None:
        environment[variable] = before
    script = f"import os, sys, supple.core; print(os.environ[{variable!r}], *sys.modules)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    count, *modules = done.stdout.split()
    assert count == (before or shorter)
    assert "torch" not in modules


def _allocates(loop: Any) -> bool:
    return bool(loop.targetoptions["_nrt"])


def test_what_calls_a_loop_that_makes_arrays_is_declared_to_make_arrays_itself() -> None:
    # Else nobody would ever free those.
    for module in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}."):
        importlib.import_module(module.name)
    own = {id(loop) for loop in compiled.loops}
    assert any(_allocates(loop) for loop in compiled.loops)
    for loop in compiled.loops:
        if not _allocates(loop):
            known = loop.py_func.__globals__
            called = [known.get(name) for name in loop.py_func.__code__.co_names]
            makers = [part for part in called if id(part) in own and _allocates(part)]
            assert not makers, f"{loop.py_func.__name__} calls {makers}"


COMPILING = """
import numba
from supple.core import first_use
from supple.core.compiled import compiled

@compiled()
def half(number):
    return 0.5 * number

@compiled()
def third(number):
    return number / 3.0

first_use.watch()
{}
print(half(1.0) + third(1.0))
"""


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_script_is_told_once_on_stderr_that_the_solver_is_compiled(
    tmp_path: Path, is_silent: bool
) -> None:
    """And not where it is loaded, nor where the worker says how far it is."""
    script = tmp_path / "script.py"
    script.write_text(COMPILING.format("first_use.silence()" if is_silent else ""))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def said() -> str:
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert float(done.stdout) == pytest.approx(5.0 / 6.0)
        return done.stderr

    first = said()
    if is_silent:
        assert first == ""
    else:
        assert first.startswith("supple: compiling the solver for its first use")
        assert first.count("\n") == 1
    assert said() == ""
