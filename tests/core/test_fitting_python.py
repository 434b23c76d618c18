# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python that dev.py makes its environment with, on machines with others."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from supple.tools import debian, fitting_python
from supple.tools.fitting_python import NoFittingPythonError, version_of

REPOSITORY = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs here are shell scripts")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the path, on a machine whose running Python is too new."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("ASDF_DATA_DIR", str(tmp_path / "asdf"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setattr(fitting_python, "_UV", tmp_path / "uv")
    monkeypatch.setattr(fitting_python, "_has_pip", lambda: True)
    run_by(python(folder / "newest", "3 14 0"), monkeypatch)
    return folder


def run_by(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    running = SimpleNamespace(executable=program, version_info=(3, 14, 1))
    monkeypatch.setattr(fitting_python, "sys", running)


def python(path: Path, answer: str, status: int = 0) -> str:
    """A program that answers as a Python of a version does."""
    return script(path, f"echo {answer}; exit {status}")


def script(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_the_running_one_serves_where_it_fits(programs, monkeypatch) -> None:
    python(programs / "python3.11", "3 11 0")
    fitting = python(programs / "running", "3 13 0")
    run_by(fitting, monkeypatch)
    assert fitting_python.fitting_python() == fitting


def test_another_on_the_path_serves_the_oldest_first(programs) -> None:
    newer = python(programs / "python3.13", "3 13 0")
    assert fitting_python.fitting_python() == newer
    older = python(programs / "python3.11", "3 11 0")
    assert fitting_python.fitting_python() == older


def test_shims_and_free_threaded_ones_are_passed_over(programs, tmp_path, monkeypatch) -> None:
    python(programs / "python3.11", "not installed", status=127)
    python(programs / "python3.13", "3 13 1")
    behind = python(tmp_path / "behind" / "python3.11", "3 11 0")
    assert version_of([str(programs / "python3.13")]) is None
    monkeypatch.setenv("PATH", f"{programs}:{tmp_path / 'behind'}")
    assert fitting_python.fitting_python() == behind


@pytest.mark.parametrize(
    "manager", ["pyenv/versions", "asdf/installs/python", "share/mise/installs/python"]
)
def test_those_of_version_managers_serve(programs, tmp_path, manager: str) -> None:
    there = python(tmp_path / manager / "3.11.7/bin/python", "3 11 0")
    python(tmp_path / manager / "3.12.1/bin/python", "3 12 0")
    assert fitting_python.fitting_python() == there


def test_one_of_a_version_is_found_or_none(programs, monkeypatch) -> None:
    newer = python(programs / "python3.13", "3 13 0")
    assert fitting_python.find((3, 13)) == newer
    assert fitting_python.find((3, 11)) is None
    run_by(python(programs / "running", "3 11 0"), monkeypatch)
    assert fitting_python.find((3, 11)) == str(programs / "running")


def test_uv_fetches_one_where_there_is_none(programs, tmp_path) -> None:
    fetched = python(tmp_path / "fetched" / "python3.11", "3 11 0")
    answer = f'[ "$1 $2 $3" = "python find 3.11" ] && [ -e {tmp_path}/done ] && echo {fetched}'
    install = f'[ "$1 $2 $3" = "python install 3.11" ] && : > {tmp_path}/done && exit 0'
    script(programs / "uv", f"{install}\n{answer}")
    assert fitting_python.fitting_python() == fetched


def test_pip_installs_uv_where_that_is_missing_too(programs, tmp_path, monkeypatch) -> None:
    fetched = python(tmp_path / "fetched" / "python3.11", "3 11 0")
    uv = f'#!/bin/sh\\n[ "$2 $3" = "install 3.11" ] || echo {fetched}\\n'
    pip = (
        f'[ "$1 $2" = "-m pip" ] || {{ echo 3 14 0; exit 0; }}\n'
        f'while [ "$1" != --target ]; do shift; done; [ "$3" = uv ] || exit 1\n'
        f"/bin/mkdir -p $2/bin && printf '{uv}' > $2/bin/uv && /bin/chmod +x $2/bin/uv"
    )
    run_by(script(programs / "newest", pip), monkeypatch)
    assert fitting_python.fitting_python() == fetched
    assert (tmp_path / "uv/bin/uv").exists()


def test_without_any_one_line_says_what_to_install(programs) -> None:
    script(programs / "uv", "exit 1")
    with pytest.raises(NoFittingPythonError) as caught:
        fitting_python.fitting_python()
    assert str(caught.value) == (
        "Blender's Python module runs on Python 3.11 or 3.13; this is 3.14. Install one of those "
        "or uv, then run this again."
    )


def test_where_pip_is_missing_that_is_what_to_install(programs, monkeypatch) -> None:
    monkeypatch.setattr(fitting_python, "_has_pip", lambda: False)
    monkeypatch.setattr(debian, "is_debian_root", lambda: False)
    with pytest.raises(NoFittingPythonError, match=r"Install one of those or pip, then run this"):
        fitting_python.fitting_python()


def test_there_is_a_wheel_of_blender_for_each_that_fits() -> None:
    """Each wheel runs on one Python alone."""
    from packaging.requirements import Requirement

    lines = (REPOSITORY / "requirements" / "dev.txt").read_text().splitlines()
    wheels = [Requirement(line) for line in lines if line.startswith("bpy")]
    for version, release in (((3, 11), "4.5"), ((3, 13), "5.2")):
        assert version in fitting_python.VERSIONS
        environment = {"python_version": ".".join(map(str, version))}
        (fitting,) = (each for each in wheels if each.marker and each.marker.evaluate(environment))
        assert str(fitting.specifier).startswith(f"=={release}.")


@pytest.mark.parametrize("minor", [8, 9, 10, 11, 12, 13, 14])
def test_dev_py_says_it_in_one_line_on_any_python_that_is_here(tmp_path: Path, minor: int) -> None:
    program = fitting_python.find((3, minor))
    if program is None:
        pytest.skip(f"no Python 3.{minor} here")
    code = (
        "import sys; sys.path.insert(0, '.'); import dev; from tools import fitting_python as f; "
        "from pathlib import Path; f.VERSIONS = ((2, 0),); f.shutil.which = lambda *_, **__: None; "
        "f._installed_uv = str; "
        f"dev.PYTHON = Path('{tmp_path}/no'); dev.VENV = Path('{tmp_path}'); "
        "sys.argv = ['dev.py', 'setup']; sys.exit(dev.main())"
    )
    command = [program, "-B", "-c", code]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    said = f"Blender's Python module runs on Python 2.0; this is 3.{minor}."
    assert done.stderr.startswith(said), done.stderr
    assert done.stderr.count("\n") == 1
