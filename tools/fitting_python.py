"""Find a Python that Blender's wheel runs on, or have uv fetch one. Runs on older ones, too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from . import debian

#: Those of the bpy wheels of Blender 4.5 LTS and 5.2 LTS; the first one is preferred.
VERSIONS = ((3, 11), (3, 13))

_UV = Path(__file__).resolve().parents[1] / "build" / "uv"

# Its version, and whether it is one without a global lock, which takes other wheels.
_ASK = (
    "import sys, sysconfig; "
    "print(*sys.version_info[:2], int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"
)


class NoFittingPythonError(RuntimeError):
    """No Python here fits and none can be fetched; the message says what to install."""


def fitting_python() -> str:
    """The program: the running Python, another one of this machine, or one that uv fetches.

    Raises:
        NoFittingPythonError: there is none.
    """
    if version_of([sys.executable]) in VERSIONS:
        return sys.executable
    for version in VERSIONS:
        program = find(version)
        if program is not None:
            return program
    uv = shutil.which("uv") or _installed_uv()
    fetched = _fetched(uv, VERSIONS[0]) if uv else ""
    if fetched:
        return fetched
    raise NoFittingPythonError(
        "Blender's Python module runs on Python {}; this is {}. Install one of those or {}, then "
        "run this again.".format(
            " or ".join(map(_words, VERSIONS)),
            _words(sys.version_info[:2]),
            "uv" if _has_pip() else "pip",
        )
    )


def find(version: tuple[int, int]) -> str | None:
    """A Python of one version on this machine, or None."""
    running = [sys.executable] if sys.executable else []
    for program in (*running, *_candidates(version)):
        if version_of([program]) == version:
            return program
    return None


def version_of(command: Sequence[str]) -> tuple[int, int] | None:
    """Major and minor version of a Python; None where it does not run or takes other wheels."""
    try:
        done = subprocess.run(
            [*command, "-c", _ASK],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
        major, minor, is_free_threaded = map(int, done.stdout.split())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode or is_free_threaded else (major, minor)


def _candidates(version: tuple[int, int]) -> Iterator[str]:
    words = _words(version)
    # The first of a name may be a shim of a version manager that has no such version.
    for place in os.environ.get("PATH", "").split(os.pathsep):
        program = shutil.which(f"python{words}", path=place) if place else None
        if program:
            yield program
    if os.name == "nt":
        yield from _launcher_pythons(words)
        return
    # Version managers keep Pythons that no name on the path leads to.
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    share = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    asdf = Path(os.environ.get("ASDF_DATA_DIR") or Path.home() / ".asdf")
    managers = (pyenv / "versions", asdf / "installs/python", share / "mise/installs/python")
    for folder in managers:
        yield from map(str, sorted(folder.glob(f"{words}.*/bin/python"), reverse=True))


def _launcher_pythons(words: str) -> Iterator[str]:
    """Pythons that Python's launcher for Windows knows."""
    launcher = shutil.which("py")
    if launcher is None:
        return
    ask = [launcher, f"-{words}", "-c", "import sys; print(sys.executable)"]
    done = subprocess.run(ask, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode == 0:
        yield done.stdout.strip()


def _installed_uv() -> str:
    """The uv that pip installs below ``build/``; empty where it cannot."""
    program = _UV / "bin" / ("uv.exe" if os.name == "nt" else "uv")
    if not (program.exists() or _has_pip() or debian.is_debian_root()):
        return ""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    if not program.exists():
        if not _has_pip():
            debian.install(["python3-pip"], "Fetching a fitting Python")
        print(f"Installing uv into {_UV}, to fetch a fitting Python with", flush=True)
        subprocess.run(
            [*pip, "--target", str(_UV), "uv"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return str(program) if program.exists() else ""


def _has_pip() -> bool:
    return find_spec("pip") is not None


def _fetched(uv: str, version: tuple[int, int]) -> str:
    """A Python that uv has or fetches; empty where it cannot."""
    words = _words(version)
    print(f"Fetching Python {words} with uv", flush=True)
    if subprocess.run([uv, "python", "install", words]).returncode:
        return ""
    answer = subprocess.run([uv, "python", "find", words], stdout=subprocess.PIPE, text=True)
    program = answer.stdout.strip()
    return program if not answer.returncode and version_of([program]) == version else ""


def _words(version: Sequence[int]) -> str:
    return ".".join(str(part) for part in version[:2])
