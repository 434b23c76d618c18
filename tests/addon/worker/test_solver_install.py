# SPDX-License-Identifier: GPL-3.0-or-later
"""The installation of the solver. Nothing is downloaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import threading
import time
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import SimpleNamespace

import pytest

from supple.addon.worker import solver_environment, solver_install, solver_packages, warm_worker
from supple.core.errors import SuppleError
from supple.tools import wheels

from ..conftest import put_torch


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    app = SimpleNamespace(online_access=True)
    monkeypatch.setattr(solver_install, "bpy", SimpleNamespace(app=app))


def pretend(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Runs ``code`` in place of pip; in sys.argv it finds what to fill, and with what."""
    monkeypatch.setattr(
        solver_install,
        "_pip_command",
        lambda target, missing, _=None: [sys.executable, "-c", code, str(target), *missing],
    )


def put_packages(folder: Path) -> dict[str, str]:
    """Lets a folder look as if everything was installed there; the versions."""
    wanted = [re.split("[=>]+", each, maxsplit=1) for each in solver_packages.missing(folder)]
    versions = {name: version.partition(",")[0] for name, version in wanted}
    put_torch(folder)
    for name, version in versions.items():
        (folder / f"{name}-{version}.dist-info").mkdir()
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "old.py").write_text("1")
    return versions


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
    monkeypatch: pytest.MonkeyPatch, solver_folder: Path
) -> None:
    pretend(monkeypatch, WORKING_PIP)
    put_torch(solver_folder, ".cpython-27-other.so")
    lines: list[str] = []
    solver_install.install(lines.append)
    assert lines == ["Downloading torch", "Successfully installed torch"]
    assert solver_environment.holds_torch(solver_folder)
    assert [path.name for path in solver_folder.parent.iterdir()] == ["solver"]
    assert [path.name for path in (solver_folder / "torch").iterdir()] == [
        f"_C{EXTENSION_SUFFIXES[0]}"
    ]


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
    monkeypatch: pytest.MonkeyPatch, solver_folder: Path, code: str, why: str
) -> None:
    put_packages(solver_folder)
    pretend(monkeypatch, code)
    with pytest.raises(SuppleError, match=why):
        solver_install.install(print)
    assert solver_environment.holds_torch(solver_folder)
    assert [path.name for path in solver_folder.parent.iterdir()] == ["solver"]


@pytest.mark.usefixtures("online")
def test_a_solver_that_is_in_use_stays_and_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch, solver_folder: Path
) -> None:
    """As on Windows, while a worker has loaded it; one that only waits is ended first."""
    put_packages(solver_folder)
    pretend(monkeypatch, WORKING_PIP)
    ended = []
    monkeypatch.setattr(warm_worker, "stop", lambda: ended.append(True))

    def refuse(path: Path, target: Path) -> None:
        assert ended
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(SuppleError, match=r"in use: Access is denied\. Stop the simulation"):
        solver_install.install(print)
    assert solver_environment.holds_torch(solver_folder)
    assert [path.name for path in solver_folder.parent.iterdir()] == ["solver"]


@pytest.mark.usefixtures("online")
def test_cancelling_ends_pip_at_once_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, solver_folder: Path
) -> None:
    pretend(monkeypatch, "import time; print('Downloading', flush=True); time.sleep(60)")
    installation = solver_install.Installation()
    assert installation.lines(wait=20.0) == ["Downloading"]
    began = time.monotonic()
    installation.cancel()
    assert time.monotonic() - began < 5.0
    assert not installation.running()
    assert list(solver_folder.parent.iterdir()) == []


@pytest.mark.usefixtures("online")
def test_asking_for_lines_never_waits(monkeypatch: pytest.MonkeyPatch, solver_folder: Path) -> None:
    pretend(monkeypatch, "import time; time.sleep(60)")
    installation = solver_install.Installation()
    asking = threading.Thread(target=installation.lines, daemon=True)
    asking.start()
    asking.join(5.0)
    installation.cancel()
    assert not asking.is_alive()


def test_offline_nothing_is_started_and_the_setting_is_named(solver_folder: Path) -> None:
    with pytest.raises(SuppleError, match="Allow Online Access"):
        solver_install.Installation()
    assert not solver_folder.parent.exists()


INCOMPLETE_PIP = """
import pathlib, sys
folder, asked = pathlib.Path(sys.argv[1]), sys.argv[2:]
for name in ("numba", "numpy"):
    (folder / name).mkdir()
    (folder / name / "new.py").touch()
    (folder / f"{name}-9.9.dist-info").mkdir()
print(*asked)
"""


@pytest.mark.usefixtures("online")
def test_only_what_is_missing_is_installed_beside_what_is_there(
    monkeypatch: pytest.MonkeyPatch, solver_folder: Path
) -> None:
    pretend(monkeypatch, INCOMPLETE_PIP)
    versions = put_packages(solver_folder)
    numba = versions["numba"]
    (solver_folder / "numba").rename(solver_folder / "single")
    (solver_folder / f"numba-{numba}.dist-info").rmdir()
    (solver_folder / "single.py").write_text("2")
    lines: list[str] = []
    solver_install.install(lines.append)
    assert lines == [f"numba=={numba}"]
    assert solver_environment.holds_torch(solver_folder)
    assert (solver_folder / "scipy" / "old.py").read_text() == "1"
    assert (solver_folder / "single.py").read_text() == "2"
    assert (solver_folder / "numba" / "new.py").is_file()
    # What came along replaces what was there, its version with it.
    assert [path.name for path in (solver_folder / "numpy").iterdir()] == ["new.py"]
    found = {path.stem for path in solver_folder.glob("*.dist-info")}
    now = versions | {"numba": "9.9", "numpy": "9.9"}
    assert found == {f"{name}-{version}" for name, version in now.items()}
    assert [path.name for path in solver_folder.parent.iterdir()] == ["solver"]


def test_what_is_there_in_another_version_is_missing(solver_folder: Path) -> None:
    assert solver_install.missing() == []  # without PyTorch everything is installed
    versions = put_packages(solver_folder)
    assert {"torch", "numpy", "numba", "scipy"} <= set(versions)
    assert solver_install.missing() == []
    torch = solver_folder / f"torch-{versions['torch']}"
    torch.with_name(f"{torch.name}.dist-info").rename(f"{torch}+cpu.dist-info")
    assert solver_install.missing() == []
    numba = solver_folder / f"numba-{versions['numba']}.dist-info"
    numba.rename(solver_folder / "numba-0.1.dist-info")
    assert solver_install.missing() == [f"numba=={versions['numba']}"]


def test_pip_is_asked_for_what_is_missing_so_that_it_fits_the_rest(tmp_path: Path) -> None:
    command = solver_install._pip_command(tmp_path, ["scipy==1.17.1"])
    assert command[-3:] == ["scipy==1.17.1", "--constraint", str(solver_packages.REQUIREMENTS)]
    assert "-r" not in command


def test_pip_is_asked_for_the_pinned_packages_in_a_folder_of_their_own(tmp_path: Path) -> None:
    command = solver_install._pip_command(tmp_path, [])
    assert command[command.index("--target") + 1] == str(tmp_path)
    assert "--no-user" in command
    assert Path(command[command.index("-r") + 1]).is_file()


@pytest.mark.usefixtures("no_torch")
def test_a_python_without_pip_uses_the_one_that_ensurepip_carries() -> None:
    runner = solver_install._pip()
    output = subprocess.check_output([sys.executable, *runner, "--version"], text=True)
    assert output.startswith("pip ")
    assert runner != ["-m", "pip"]


def test_a_folder_of_packages_needs_no_network(tmp_path: Path) -> None:
    command = solver_install._pip_command(tmp_path, [], tmp_path / "packages")
    start = command.index("--no-index")
    assert command[start : start + 3] == ["--no-index", "--find-links", str(tmp_path / "packages")]
    assert "--no-index" not in solver_install._pip_command(tmp_path, [])


def test_a_folder_without_packages_is_named(tmp_path: Path, solver_folder: Path) -> None:
    with pytest.raises(SuppleError, match=f"{tmp_path} holds no packages. On a machine with"):
        solver_install.install(print, tmp_path)


def test_a_missing_folder_of_packages_is_named(tmp_path: Path, solver_folder: Path) -> None:
    with pytest.raises(SuppleError, match=r"There is no folder .*nowhere\."):
        solver_install.install(print, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("torch-2.0-cp27-cp27m-win_amd64.whl", ", only torch-2.0-cp27-cp27m-win_amd64.whl"),
        ("sixth-1.0-py3-none-any.whl", ""),
    ],
)
def test_a_folder_with_packages_of_another_machine_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, solver_folder: Path, name: str, only: str
) -> None:
    """With pip itself."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    (tmp_path / name).touch()
    (pinned,) = (each.pinned for each in solver_packages.packages() if each.name == "torch")
    message = f"{tmp_path} has no {pinned} for this machine{only}. On a machine with a network, "
    with pytest.raises(SuppleError, match=re.escape(message)) as error:
        solver_install.install(print, tmp_path)
    words = str(error.value).partition("dev.py wheels ")[2].rstrip(".").split()
    assert wheels.parsed(words, tmp_path).python == sysconfig.get_python_version()
    assert not solver_folder.exists()
