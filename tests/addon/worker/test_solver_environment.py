# SPDX-License-Identifier: GPL-3.0-or-later
"""The choice and start of the worker's Python, and the folder of loops."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from supple.addon import preferences
from supple.addon.worker import solver_environment, solver_packages
from supple.addon.worker.solver_environment import Environment
from supple.core.errors import SuppleError
from supple.core.version import version

from ..conftest import put_torch


def name_python(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(preferences, "find", lambda: SimpleNamespace(solver_python=str(path)))


# Finding


def test_finding_starts_no_process_and_imports_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    before = set(sys.modules)
    solver_environment.find()
    assert not {name for name in set(sys.modules) - before if name.startswith("torch")}


def test_the_python_named_in_the_preferences_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, solver_folder: Path
) -> None:
    put_torch(solver_folder)
    python = tmp_path / "python"
    python.touch()
    name_python(monkeypatch, python)
    found = solver_environment.find()
    assert found is not None
    assert (found.python, found.site) == (python, None)


@pytest.mark.parametrize("leftover", [None, "__init__.py", "README.txt"])
def test_what_is_left_of_a_removed_solver_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, solver_folder: Path, leftover: str | None
) -> None:
    packages = tmp_path / "site-packages"
    monkeypatch.setattr("site.getsitepackages", lambda: [str(packages)])
    for folder in (packages, solver_folder):
        (folder / "torch").mkdir(parents=True)
        if leftover is not None:
            (folder / "torch" / leftover).touch()
    assert solver_environment.find() is None
    put_torch(tmp_path / "whole")
    shutil.move(tmp_path / "whole" / "torch" / f"_C{EXTENSION_SUFFIXES[0]}", packages / "torch")
    found = solver_environment.find()
    assert found is not None and found.site is None


def test_an_empty_folder_is_no_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, solver_folder: Path
) -> None:
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path)])
    put_torch(solver_folder)
    (solver_folder / "scipy").mkdir()
    assert not solver_environment.may_have("scipy")
    assert solver_environment.why_incomplete().startswith("The solver lacks the package SciPy.")
    (solver_folder / "scipy" / "__init__.py").touch()
    assert solver_environment.may_have("scipy")
    assert solver_environment.why_incomplete().startswith("The solver lacks the package numba.")


def test_a_named_python_that_does_not_exist_is_reported_and_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name_python(monkeypatch, tmp_path / "gone")
    assert solver_environment.find() is None
    with pytest.raises(SuppleError, match=r"gone, does not exist\. Correct the path"):
        solver_environment.worker_command(tmp_path)


def test_installed_packages_come_before_those_of_blenders_python(solver_folder: Path) -> None:
    put_torch(solver_folder)
    found = solver_environment.find()
    assert found is not None
    assert (found.python, found.site) == (Path(sys.executable), solver_folder)


@pytest.mark.usefixtures("no_torch")
def test_packages_built_for_another_python_are_not_used(solver_folder: Path) -> None:
    put_torch(solver_folder, ".cpython-27-other.so")
    assert solver_environment.find() is None


@pytest.mark.usefixtures("no_torch")
def test_without_torch_the_message_names_the_cure(tmp_path: Path, solver_folder: Path) -> None:
    with pytest.raises(SuppleError, match="Press Install Solver"):
        solver_environment.worker_command(tmp_path)


@pytest.mark.usefixtures("no_torch")
def test_outside_blenders_extensions_the_cure_is_pip(tmp_path: Path) -> None:
    assert solver_environment.solver_folder() is None
    with pytest.raises(SuppleError, match=r"solver\.txt there with pip"):
        solver_environment.worker_command(tmp_path)


# Completeness


@pytest.mark.parametrize(("missing", "label"), [("scipy", "SciPy"), ("numba", "numba")])
def test_a_solver_that_lacks_a_package_is_refused_with_the_button_that_helps(
    monkeypatch: pytest.MonkeyPatch, solver_folder: Path, tmp_path: Path, missing: str, label: str
) -> None:
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path / "empty")])
    put_torch(solver_folder)
    for name in {"scipy", "numba"} - {missing}:
        (solver_folder / name).mkdir()
        (solver_folder / name / "__init__.py").touch()
    with pytest.raises(SuppleError, match=rf"{label}.*Choose Install Solver\."):
        solver_environment.check_complete()
    (solver_folder / missing).mkdir()
    (solver_folder / missing / "__init__.py").touch()
    assert solver_environment.why_incomplete() == ""


def test_a_named_python_says_itself_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path / "empty")])
    python = tmp_path / "python"
    python.touch()
    name_python(monkeypatch, python)
    assert solver_environment.why_incomplete() == ""


# Starting


def test_the_worker_sees_neither_user_packages_nor_what_redirects_python(
    monkeypatch: pytest.MonkeyPatch, solver_folder: Path, tmp_path: Path
) -> None:
    put_torch(solver_folder)
    for name in ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    command, variables = solver_environment.worker_command(tmp_path / "job", "--more")
    assert command[1:3] == ["-s", "-P"]
    assert command[-2:] == [str(tmp_path / "job"), "--more"]
    redirecting = {name for name in variables if name.startswith(("PYTHON", "__PYVENV"))}
    assert redirecting == {"PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONUTF8"}
    assert variables["PYTHONPATH"] == str(solver_folder)
    code = "import site, sys; print(site.ENABLE_USER_SITE, sys.path[0])"
    output = subprocess.check_output([*command[:3], "-c", code], env=variables, text=True)
    assert output.split() == ["False", str(solver_folder)]


def test_the_worker_starts_from_a_folder_of_any_name(tmp_path: Path) -> None:
    root = tmp_path / "bl ext é"
    core = solver_environment.ROOT / "core"
    shutil.copytree(core, root / "core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(solver_environment.ROOT / "__init__.py", root)
    (root / "core" / "__main__.py").write_text(
        "import sys\nfrom . import errors\nprint(__name__, errors.__name__, *sys.argv[1:])\n"
    )
    command = [sys.executable, "-s", "-P", str(root / "core" / "launch.py"), "job", "--flag"]
    output = subprocess.check_output(command, env=_clean(), cwd=tmp_path, text=True)
    assert output.split() == ["__main__", "supple.core.errors", "job", "--flag"]


def test_the_worker_s_exit_status_reaches_its_caller(tmp_path: Path) -> None:
    launcher = solver_environment.ROOT / "core" / "launch.py"
    command = [sys.executable, "-s", "-P", str(launcher), str(tmp_path / "no job")]
    done = subprocess.run(command, env=_clean(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def _clean() -> dict[str, str]:
    return solver_environment.variables(Environment(Path(sys.executable), None, ""))


def test_each_version_keeps_its_compiled_loops_apart(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(solver_environment, "users_cache", lambda: tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert _clean()["NUMBA_CACHE_DIR"] == str(tmp_path / "kernels" / version())
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert _clean()["NUMBA_CACHE_DIR"] == str(tmp_path / "elsewhere")


def test_loops_that_older_versions_compiled_are_removed(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(solver_environment, "users_cache", lambda: tmp_path)
    monkeypatch.setattr(solver_environment, "version", lambda: "1.10.0")
    solver_environment.remove_older_kernels()  # where there are none
    for name in ("0.9.9", "1.9.0", "1.10.0", "1.11.0", "2.0.0"):
        (tmp_path / "kernels" / name / "core_1f").mkdir(parents=True)
    solver_environment.remove_older_kernels()
    left = {path.name for path in (tmp_path / "kernels").iterdir()}
    assert left == {"1.10.0", "1.11.0", "2.0.0"}


MACHINES = [
    ("x86_64", "#1 SMP", "linux"),
    ("aarch64", "#1 SMP", "linux"),
    ("AMD64", "10.0.22631", "win32"),
    ("ARM64", "10.0.22631", "win32"),
    ("arm64", "Darwin Kernel Version 23.6.0", "darwin"),
    ("arm64", "Darwin Kernel Version 24.1.0", "darwin"),
    ("x86_64", "Darwin Kernel Version 23.6.0", "darwin"),
]


@pytest.mark.parametrize(("machine", "version", "system"), MACHINES)
def test_what_is_made_for_a_machine_is_what_pip_installs(
    monkeypatch: pytest.MonkeyPatch, machine: str, version: str, system: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "version", lambda: version)
    monkeypatch.setattr(sys, "platform", system)
    names = {"platform_machine": machine, "platform_version": version, "sys_platform": system}
    lines = solver_packages.REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    found = {package.name: package.is_made for package in solver_packages.packages()}
    assert found == {
        each.name: each.marker is None or each.marker.evaluate(names) for each in wanted
    }


@pytest.mark.parametrize("marker", ["open('ran', 'w')", "platform_machine", '"a" < "b"'])
def test_a_marker_that_is_no_comparison_is_refused_and_never_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, marker: str
) -> None:
    path = tmp_path / "solver.txt"
    path.write_text(f"numpy>=1.26 ; {marker}\n", encoding="utf-8")
    monkeypatch.setattr(solver_packages, "REQUIREMENTS", path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is not understood"):
        solver_packages.packages()
    assert list(tmp_path.iterdir()) == [path]
