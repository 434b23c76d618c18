"""Compile the solver's loops for several Pythons, to come with the extension.

The loops of one state of the sources lie below ``build/shipped/``. What is complete there is not
compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from . import extension_zip, fitting_python
from .real_blender import REPOSITORY, Blender


class Run(Protocol):
    """Runs a program with further variables of the environment; its exit status and output."""

    def __call__(self, command: Sequence[str], variables: Mapping[str, str], /) -> tuple[int, str]:
        """Run it."""


_ASK = "import sys, numba; print(sys.version_info[:2], numba.__version__, sys.executable)"
_HAS_SOLVER = (
    "import sys; from importlib.util import find_spec as find; "
    "sys.exit(not (find('numba') and find('torch')))"
)
_SHIP = ("-s", "-P", "core/launch.py", "--ship")
_REQUIREMENTS = REPOSITORY / "requirements" / "solver.txt"


class LoopsError(RuntimeError):
    """A Python could not compile the loops; the message ends with its output."""


def folder() -> Path:
    """The folder of the present sources' loops, for every Python and system that compiled some."""
    return REPOSITORY / "build" / "shipped" / extension_zip.fingerprint(REPOSITORY)


def compile_with(python: str, run: Run | None = None) -> None:
    """Compile the loops for one Python that has the solver, unless they are complete.

    Args:
        python: the program.
        run: how to run it; on this machine by default.

    Raises:
        LoopsError: it lacks the solver, or could not compile the loops.
    """
    run = _run_here if run is None else run
    target = folder()
    target.mkdir(parents=True, exist_ok=True)
    status, answer = run([python, "-c", _ASK], {})
    if status:
        raise LoopsError(f"{answer}{python} lacks numba; install {_REQUIREMENTS} there.")
    # A name that the zip leaves out.
    stamp = target / f".complete-{hashlib.sha256(answer.encode()).hexdigest()[:16]}"
    with _lock(target / ".lock"):
        if stamp.exists():
            return
        print(f"Compiling the solver's loops for {python}: some minutes at first", flush=True)
        kernels = {"NUMBA_CACHE_DIR": str(REPOSITORY / "build" / "kernels")}
        status, output = run([python, *_SHIP, str(target)], kernels)
        if status:
            raise LoopsError(f"{output}{python} could not compile the loops.")
        stamp.touch()


def compile_for(blender: Blender) -> Path:
    """Compile the loops for the Python of a Blender, where that has the solver, and return their
    folder."""

    def run(argv: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str]:
        done = blender.run(argv, environment=variables, timeout=1800.0)
        return done.returncode, done.stdout

    ask = "import sys; print('PYTHON', sys.executable)"
    command = [blender.executable, "-b", "--factory-startup", "--python-expr", ask]
    (line,) = (line for line in run(command, {})[1].splitlines() if line.startswith("PYTHON "))
    python = line.removeprefix("PYTHON ")
    if run([python, "-c", _HAS_SOLVER], {})[0] == 0:
        compile_with(python, run)
    folder().mkdir(parents=True, exist_ok=True)
    return folder()


def make_solver_python(version: tuple[int, int]) -> str | None:
    """Make a virtual environment with the solver for a version of Python, unless there is one.

    Returns its Python, or None where this machine has no such Python.

    Raises:
        LoopsError: pip could not install the solver.
    """
    words = ".".join(map(str, version))
    venv = REPOSITORY / "build" / "solvers" / words
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = venv / "solver.stamp"
    fingerprint = hashlib.sha256(_REQUIREMENTS.read_bytes() + str(REPOSITORY).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == fingerprint:
        return str(python)
    base = fitting_python.find(version)
    if base is None:
        return None
    print(f"Making {venv} with {base}", flush=True)
    install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    for argv in ([base, "-m", "venv", str(venv)], [*install, "-r", str(_REQUIREMENTS)]):
        if subprocess.run(argv).returncode:
            raise LoopsError(f"The solver could not be installed into {venv}.")
    stamp.write_text(fingerprint)
    return str(python)


def _run_here(argv: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        argv,
        cwd=REPOSITORY,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return done.returncode, done.stdout


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Let one process compile and others wait, where files can be locked."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
