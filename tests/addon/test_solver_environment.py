# SPDX-License-Identifier: GPL-3.0-or-later
"""How the worker's Python is found, started and installed. Nothing is downloaded."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import SimpleNamespace

import pytest

from supple.addon import preferences, solver_environment, solver_install
from supple.addon.solver_environment import Environment
from supple.core.errors import SuppleError


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python whose own packages hold no torch."""
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path / "empty")])


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the extension would install the solver."""
    path = tmp_path / "user" / "solver"
    monkeypatch.setattr(solver_environment, "solver_folder", lambda: path)
    return path


def put_torch(folder: Path, suffix: str = EXTENSION_SUFFIXES[0]) -> None:
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / f"_C{suffix}").touch()


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
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path
) -> None:
    put_torch(folder)
    python = tmp_path / "python"
    python.touch()
    name_python(monkeypatch, python)
    found = solver_environment.find()
    assert found is not None
    assert (found.python, found.site) == (python, None)


def test_a_named_python_that_does_not_exist_is_said_and_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name_python(monkeypatch, tmp_path / "gone")
    assert solver_environment.find() is None
    with pytest.raises(SuppleError, match=r"gone, does not exist\. Correct the path"):
        solver_environment.worker_command(tmp_path)


def test_installed_packages_come_before_those_of_blenders_python(folder: Path) -> None:
    put_torch(folder)
    found = solver_environment.find()
    assert found is not None
    assert (found.python, found.site) == (Path(sys.executable), folder)


@pytest.mark.usefixtures("no_torch")
def test_packages_built_for_another_python_are_not_used(folder: Path) -> None:
    put_torch(folder, ".cpython-27-other.so")
    assert solver_environment.find() is None


@pytest.mark.usefixtures("no_torch")
def test_without_torch_the_message_names_the_cure(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(SuppleError, match="Choose Install Solver"):
        solver_environment.worker_command(tmp_path)


@pytest.mark.usefixtures("no_torch")
def test_outside_blenders_extensions_the_cure_is_pip(tmp_path: Path) -> None:
    assert solver_environment.solver_folder() is None
    with pytest.raises(SuppleError, match=r"solver\.txt there with pip"):
        solver_environment.worker_command(tmp_path)


# Contact


def test_contact_without_its_package_is_refused_with_the_button_that_helps(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path / "empty")])
    put_torch(folder)
    with pytest.raises(SuppleError, match=r"ipctk.*Choose Install Solver, or set Contact to Never"):
        solver_environment.check_contact()
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert "not made for this machine (riscv64)" in solver_environment.why_no_contact()
    (folder / "ipctk").mkdir()
    (folder / "ipctk" / "__init__.py").touch()
    assert solver_environment.why_no_contact() == ""


def test_a_named_python_says_itself_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path / "empty")])
    python = tmp_path / "python"
    python.touch()
    name_python(monkeypatch, python)
    assert solver_environment.why_no_contact() == ""


# Starting


def test_the_worker_sees_neither_user_packages_nor_what_redirects_python(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    put_torch(folder)
    for name in ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    command, variables = solver_environment.worker_command(tmp_path / "job", "--more")
    assert command[1:3] == ["-s", "-P"]
    assert command[-2:] == [str(tmp_path / "job"), "--more"]
    redirecting = {name for name in variables if name.startswith(("PYTHON", "__PYVENV"))}
    assert redirecting == {"PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONUTF8"}
    assert variables["PYTHONPATH"] == str(folder)
    code = "import site, sys; print(site.ENABLE_USER_SITE, sys.path[0])"
    said = subprocess.check_output([*command[:3], "-c", code], env=variables, text=True)
    assert said.split() == ["False", str(folder)]


def test_the_worker_starts_from_a_folder_of_any_name(tmp_path: Path) -> None:
    root = tmp_path / "bl ext é"
    core = solver_environment.ROOT / "core"
    shutil.copytree(core, root / "core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(solver_environment.ROOT / "__init__.py", root)
    (root / "core" / "__main__.py").write_text(
        "import sys\nfrom . import errors\nprint(__name__, errors.__name__, *sys.argv[1:])\n"
    )
    command = [sys.executable, "-s", "-P", str(root / "core" / "launch.py"), "job", "--flag"]
    said = subprocess.check_output(command, env=_clean(), cwd=tmp_path, text=True)
    assert said.split() == ["__main__", "supple.core.errors", "job", "--flag"]


def test_the_worker_s_exit_status_reaches_its_caller(tmp_path: Path) -> None:
    launcher = solver_environment.ROOT / "core" / "launch.py"
    command = [sys.executable, "-s", "-P", str(launcher), str(tmp_path / "no job")]
    done = subprocess.run(command, env=_clean(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def _clean() -> dict[str, str]:
    return solver_environment.variables(Environment(Path(sys.executable), None, ""))


# Installing


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    app = SimpleNamespace(online_access=True)
    monkeypatch.setattr(solver_install, "bpy", SimpleNamespace(app=app))


def pretend(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Runs ``code`` in place of pip; it finds the folder to fill in sys.argv[1]."""
    monkeypatch.setattr(
        solver_install, "_pip_command", lambda target: [sys.executable, "-c", code, str(target)]
    )


WORKING_PIP = f"""
import pathlib, sys
torch = pathlib.Path(sys.argv[1]) / "torch"
torch.mkdir()
(torch / "_C{EXTENSION_SUFFIXES[0]}").touch()
print("Downloading torch")
print("Successfully installed torch")
"""


@pytest.mark.usefixtures("online")
def test_an_installation_is_put_in_place_whole_and_its_lines_reported(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    pretend(monkeypatch, WORKING_PIP)
    put_torch(folder, ".cpython-27-other.so")
    lines: list[str] = []
    solver_install.install(lines.append)
    assert lines == ["Downloading torch", "Successfully installed torch"]
    assert solver_environment.holds_torch(folder)
    assert [path.name for path in folder.parent.iterdir()] == ["solver"]
    assert [path.name for path in (folder / "torch").iterdir()] == [f"_C{EXTENSION_SUFFIXES[0]}"]


@pytest.mark.usefixtures("online")
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys; sys.exit('ERROR: no space left on device')", "no space left on device"),
        ("import sys; sys.exit(7)", "exit status 7"),
        ("print('done')", "no PyTorch for Python"),
    ],
)
def test_a_broken_installation_says_why_and_leaves_the_earlier_one(
    monkeypatch: pytest.MonkeyPatch, folder: Path, code: str, why: str
) -> None:
    put_torch(folder)
    pretend(monkeypatch, code)
    with pytest.raises(SuppleError, match=why):
        solver_install.install(print)
    assert solver_environment.holds_torch(folder)
    assert [path.name for path in folder.parent.iterdir()] == ["solver"]


@pytest.mark.usefixtures("online")
def test_cancelling_ends_pip_at_once_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    pretend(monkeypatch, "import time; print('Downloading', flush=True); time.sleep(60)")
    installation = solver_install.Installation()
    assert installation.lines(wait=20.0) == ["Downloading"]
    began = time.monotonic()
    installation.cancel()
    assert time.monotonic() - began < 5.0
    assert not installation.running()
    assert list(folder.parent.iterdir()) == []


@pytest.mark.usefixtures("online")
def test_asking_for_lines_never_waits(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    pretend(monkeypatch, "import time; time.sleep(60)")
    installation = solver_install.Installation()
    asking = threading.Thread(target=installation.lines, daemon=True)
    asking.start()
    asking.join(5.0)
    installation.cancel()
    assert not asking.is_alive()


def test_offline_nothing_is_started_and_the_setting_is_named(folder: Path) -> None:
    with pytest.raises(SuppleError, match="Allow Online Access"):
        solver_install.Installation()
    assert not folder.parent.exists()


def test_pip_is_asked_for_the_pinned_packages_in_a_folder_of_their_own(tmp_path: Path) -> None:
    command = solver_install._pip_command(tmp_path)
    assert command[command.index("--target") + 1] == str(tmp_path)
    assert "--no-user" in command
    assert Path(command[command.index("-r") + 1]).is_file()


@pytest.mark.usefixtures("no_torch")
def test_a_python_without_pip_uses_the_one_that_ensurepip_carries() -> None:
    runner = solver_install._pip()
    said = subprocess.check_output([sys.executable, *runner, "--version"], text=True)
    assert said.startswith("pip ")
    assert runner != ["-m", "pip"]
