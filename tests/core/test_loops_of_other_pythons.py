# SPDX-License-Identifier: GPL-3.0-or-later
"""The loops that the extension's zip brings, compiled for several Pythons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from supple.tools import compiled_loops, fitting_python
from supple.tools.compiled_loops import LoopsError
from supple.tools.real_blender import Blender


class Machine:
    """Programs that answer as Pythons with the solver do, and the loops that they compile."""

    def __init__(self) -> None:
        self.numba = "0.68.1"
        self.compiled: list[tuple[str, Path]] = []

    def run(self, argv: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str]:
        if "--ship" in argv:
            assert Path(variables["NUMBA_CACHE_DIR"]).name == "kernels"
            self.compiled.append((argv[0], Path(argv[-1])))
            return 0, ""
        return (0, f"{argv[0]} {self.numba}\n") if self.numba else (1, "No module numba\n")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(compiled_loops, "folder", lambda: tmp_path / "loops")
    return Machine()


def test_what_is_complete_is_not_compiled_again(machine: Machine, tmp_path: Path) -> None:
    for python in ("python3.11", "python3.13", "python3.11"):
        compiled_loops.compile_with(python, machine.run)
    folder = tmp_path / "loops"
    assert machine.compiled == [("python3.11", folder), ("python3.13", folder)]
    assert all(path.name.startswith(".") for path in folder.iterdir()), "the zip would pack it"


def test_another_numba_compiles_them_anew(machine: Machine) -> None:
    compiled_loops.compile_with("python3.11", machine.run)
    machine.numba = "0.69.0"
    compiled_loops.compile_with("python3.11", machine.run)
    assert len(machine.compiled) == 2


def test_a_python_without_the_solver_is_named(machine: Machine) -> None:
    machine.numba = ""
    with pytest.raises(LoopsError, match=r"No module numba\npython3\.11 lacks numba; install "):
        compiled_loops.compile_with("python3.11", machine.run)


def test_loops_that_failed_are_not_complete(machine: Machine) -> None:
    def fail(argv: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str]:
        return (1, "out of memory\n") if "--ship" in argv else machine.run(argv, variables)

    with pytest.raises(LoopsError, match=r"out of memory\npython3\.11 could not compile"):
        compiled_loops.compile_with("python3.11", fail)
    compiled_loops.compile_with("python3.11", machine.run)
    assert len(machine.compiled) == 1


class RealBlender:
    """A Blender whose Python has the solver, or not."""

    executable = "blender"

    def __init__(self, machine: Machine, has_solver: bool) -> None:
        self._machine, self._has_solver = machine, has_solver

    def run(self, argv: Sequence[str], *, environment: Mapping[str, str], timeout: float) -> Any:
        if argv[0] == self.executable:
            status, output = 0, "Blender 5.2.2\nPYTHON /opt/python3.14\n"
        elif "find_spec" in argv[-1]:
            status, output = int(not self._has_solver), ""
        else:
            status, output = self._machine.run(argv, environment)
        return type("Done", (), {"returncode": status, "stdout": output})


@pytest.mark.parametrize("has_solver", [True, False])
def test_a_blender_gets_those_of_its_python_where_that_has_the_solver(
    machine: Machine, tmp_path: Path, has_solver: bool
) -> None:
    blender = cast(Blender, RealBlender(machine, has_solver))
    assert compiled_loops.compile_for(blender) == tmp_path / "loops"
    assert (tmp_path / "loops").is_dir()
    assert machine.compiled == [("/opt/python3.14", tmp_path / "loops")] * has_solver


def test_a_version_that_is_not_here_gets_no_environment(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiled_loops, "REPOSITORY", tmp_path)
    monkeypatch.setattr(fitting_python, "find", lambda version: None)
    assert compiled_loops.make_solver_python((3, 13)) is None
    assert not (tmp_path / "build").exists()
