# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the Python that runs the worker. It has torch; Blender's own process never imports it.

Nothing is started or imported to find out: packages are looked up on disk, and only where the
worker itself will see them, which is not where Blender's process does.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path

import bpy

from ...core.errors import SuppleError
from ...core.version import version
from .. import preferences
from ..paths import absolute, users_cache
from . import solver_packages
from .solver_packages import REQUIREMENTS

ROOT = Path(__file__).resolve().parents[2]
# Windows opens a console for a program unless it is started so.
NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
# A command line and the environment to run it in.
Command = tuple[list[str], dict[str, str]]


@dataclass(frozen=True)
class Environment:
    """A Python that can run the worker, and a folder of packages to put before its own."""

    python: Path
    site: Path | None
    description: str


def find() -> Environment | None:
    """Find a Python with torch: the one set in the preferences, Blender's with the packages
    installed for Supple, or Blender's alone. None without torch."""
    named = named_python()
    if named is not None:
        return Environment(named, None, "named in the preferences") if named.is_file() else None
    if not sys.executable:
        return None
    python = Path(sys.executable)
    folder = solver_folder()
    if folder is not None and holds_torch(folder):
        return Environment(python, folder, "Blender's Python with the installed solver")
    if any(holds_torch(Path(each)) for each in site.getsitepackages()):
        return Environment(python, None, "Blender's Python, which has torch of its own")
    return None


def worker_command(*arguments: str | Path) -> Command:
    """The command line that starts the worker with these arguments, and its environment.

    Raises:
        SuppleError: when there is no Python to run it.
    """
    environment = find()
    if environment is None:
        raise SuppleError(why_not_found())
    launcher = str(ROOT / "core" / "launch.py")
    command = [str(environment.python), "-s", "-P", launcher, *map(str, arguments)]
    return command, variables(environment)


def start_worker(command: Command, output: int, folder: Path) -> subprocess.Popen[bytes]:
    """Starts a worker whose standard input closes when Blender ends, and the worker with it.

    Raises:
        SuppleError: when the program cannot be started.
    """
    arguments, environment = command
    try:
        return subprocess.Popen(
            arguments,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            creationflags=NO_CONSOLE,
        )
    except OSError as error:
        raise SuppleError(
            f"The solver cannot be started: {error.strerror} ({arguments[0]})."
        ) from error


def why_not_found() -> str:
    """Return the reason why ``find`` found no solver, with the cure."""
    named = named_python()
    if named is not None:
        return (
            f"The Python set in Supple's preferences, {named}, does not exist. Correct the "
            "path, or clear it to use Blender's Python."
        )
    if solver_folder() is None:
        return (
            f"The solver needs PyTorch, which {sys.executable or 'this Python'} does not have. "
            f"Install {REQUIREMENTS} there with pip."
        )
    return (
        "Supple needs a one-time download of its solver, which uses PyTorch. Press Install "
        "Solver, here or in Supple's preferences."
    )


def check_complete() -> None:
    """Refuses to simulate where a package is known to be missing without which nothing can be.

    Raises:
        SuppleError: with the cure.
    """
    if reason := why_incomplete():
        raise SuppleError(reason)


def why_incomplete() -> str:
    """Return the message about packages that the solver lacks, with the cure; empty where it lacks
    none.

    A Python named in the preferences is not examined: its worker reports missing packages.
    """
    missing = next((name for name in ("scipy", "numba") if not may_have(name)), None)
    if missing is None:
        return ""
    label = solver_packages.package(missing).description.label
    cure = "Choose Install Solver" if can_install() else f"Install {REQUIREMENTS} there with pip"
    return f"The solver lacks the package {label}. {cure}."


def may_have(package: str) -> bool:
    """Whether the solver is not known to lack a package."""
    environment = find()
    if environment is None or named_python() is not None:
        return True
    folders = [] if environment.site is None else [str(environment.site)]
    spec = PathFinder.find_spec(package, [*folders, *site.getsitepackages()])
    # A folder without modules, as a removal may leave it, can be imported and has nothing.
    return spec is not None and spec.origin is not None


def can_install() -> bool:
    """Whether the solver runs on packages that Supple installs, and not on the user's Python."""
    return named_python() is None and solver_folder() is not None


def variables(environment: Environment) -> dict[str, str]:
    """Return the process environment for the worker, without variables that redirect a Python."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "__PYVENV"))
    }
    if environment.site is not None:
        inherited["PYTHONPATH"] = str(environment.site)
    # Otherwise numba would keep compiled loops in the extension's own folder.
    inherited.setdefault("NUMBA_CACHE_DIR", str(kernel_folder()))
    return inherited | {"PYTHONNOUSERSITE": "1", "PYTHONUTF8": "1"}


def kernel_folder() -> Path:
    """The folder of the compiled loops of this version of Supple."""
    return users_cache() / "kernels" / version()


def remove_older_kernels() -> None:
    """Delete the compiled files of older versions. Newer ones may serve another Blender."""
    current = kernel_folder()
    for folder in current.parent.glob("*"):
        if _release(folder.name) < _release(current.name):
            shutil.rmtree(folder, ignore_errors=True)


def _release(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdigit())


def named_python() -> Path | None:
    """The Python the user chose in the preferences."""
    path = getattr(preferences.find(), "solver_python", "")
    return absolute(path) if path else None


def solver_folder() -> Path | None:
    """The folder for the solver's packages; None outside Blender's extension system."""
    try:
        folder = bpy.utils.extension_path_user(preferences.ADDON, path="solver", create=False)
    except ValueError:
        return None
    return Path(folder)


def holds_torch(folder: Path) -> bool:
    """Whether ``folder`` has a torch that was built for this version of Python."""
    return any((folder / "torch" / f"_C{suffix}").is_file() for suffix in EXTENSION_SUFFIXES)
