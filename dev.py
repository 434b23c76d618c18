#!/usr/bin/env python3
"""Everything a developer does here, on any system, with nothing but Python.

setup    make .venv and install what is needed; the other commands do this first
demo     simulate, bake and render sample_scenes/jelly_drop.blend, or those that are named
test     pytest, on all cores unless files are named; with --quick, for while you work, the tests
         that were the quickest when all ran; with --blender those in a real Blender; further
         words go to pytest
lint     ruff, mypy, codespell and a check of the English; with --fix it mends what ruff can
bench    time the solver beside its peers
verify   check the solver against closed forms and write docs/verification.md; with --check
         leave the page as it is
golden   compare small scenes with the record of where they ended; with --make record them anew
storms   check every move of small fast bodies for 20 minutes, and write verification/results
looks    measure and render how bodies look, and write docs/looks.md
docs     build the documentation and the API reference into build/docs/index.html
build    pack the extension's zip into dist/; with --compiled, beside it the loops that the solver
         would compile at its first use: for each Python of Blender 4.5 to 5.2 that is here
wheels   collect the solver's packages into build/wheels, or another folder, for machines without a
         network; with --platform and --python for other ones
blender  prepare a real Blender, where that is possible, and the loops for its Python; with further
         words, run it with those
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools import (
    compiled_loops,
    debian,
    extension_zip,
    find_blender,
    fitting_python,
    real_blender,
    wheels,
)

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
WINDOWS = os.name == "nt"
PYTHON = VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")
BPY_LIBRARIES = (
    *("libx11-6", "libxrender1", "libxfixes3", "libxi6", "libxkbcommon0"),
    *("libxxf86vm1", "libsm6", "libice6", "libgl1", "libegl1"),
)
# More than two cores, since a process waits for loops that another one compiles, and for workers of
# its own; each takes up to 2 GB.
TOGETHER = ("-n", "4", "--dist", "worksteal")
# A window waits for its worker, for animated panels and for pictures.
BLENDERS_TOGETHER = ("-n", "2", "--dist", "load", "--maxschedchunk", "1", "tests/blender")
# Loops are compiled once for all that is tested and checked. Threads wait for each other in busy
# loops, which slows the processes beside theirs.
SOLVER = {
    "NUMBA_CACHE_DIR": str(ROOT / "build" / "kernels"),
    "GOMP_SPINCOUNT": "1000",
    "OPENBLAS_THREAD_TIMEOUT": "10",
}
# Processes fill the cores already. Each of them, and each worker that a test starts, reads bytecode
# instead of compiling hundreds of files once more.
SHARED = {**SOLVER, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}


class DevError(RuntimeError):
    """A step could not be done; the message says why and what helps."""


# --- setup ------------------------------------------------------------------------------------


def setup(*extra: str) -> None:
    """Bring .venv up to date; `extra` names further files in requirements/.

    Raises:
        DevError: no fitting Python, or pip failed.
    """
    for name in ("dev", *extra):
        stamp, fingerprint = VENV / f"{name}.stamp", _fingerprint(name)
        if stamp.exists() and stamp.read_text() == fingerprint:
            continue
        _make_venv()
        print(f"Installing requirements/{name}.txt into {VENV}", flush=True)
        _pip("-r", f"requirements/{name}.txt", *(["-e", "."] if name == "dev" else []))
        if name == "dev":
            _check_bpy()
        stamp.write_text(fingerprint)


def _fingerprint(name: str) -> str:
    """Changes whenever what `setup` installs would."""
    files = [*ROOT.glob("requirements/*.txt")] if name == "dev" else []
    files += [ROOT / "requirements" / f"{name}.txt", ROOT / "pyproject.toml", ROOT / "setup.py"]
    content = b"\0".join(path.read_bytes() for path in sorted(files))
    return hashlib.sha256(content + str(ROOT).encode()).hexdigest()


def _make_venv() -> None:
    if PYTHON.exists():
        if fitting_python.version_of([str(PYTHON)]) not in fitting_python.VERSIONS:
            raise DevError(f"The Python in {VENV} does not fit Blender's. Remove that folder.")
        return
    python = fitting_python.fitting_python()
    print(f"Making {VENV} with {python}", flush=True)
    if _run(python, "-c", "import ensurepip", quiet=True):
        major, minor = fitting_python.version_of([python]) or (3, 11)
        debian.install([f"python{major}.{minor}-venv"], "Making a virtual environment")
    if _run(python, "-m", "venv", str(VENV)):
        shutil.rmtree(VENV, ignore_errors=True)
        raise DevError(f"{python} could not make a virtual environment in {VENV}.")


def _pip(*args: str) -> None:
    if _run(str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "-q", *args):
        raise DevError("pip could not install what is needed; its own words are above.")


def _check_bpy() -> None:
    """The bpy wheel needs a few libraries of a desktop system."""
    if not _run(str(PYTHON), "-c", "import bpy", quiet=True):
        return
    if sys.platform.startswith("linux"):
        debian.install(BPY_LIBRARIES, "The bpy wheel")
    if _run(str(PYTHON), "-c", "import bpy"):
        raise DevError("The bpy wheel cannot be imported; Python's own words are above.")


# --- commands ---------------------------------------------------------------------------------


def command_setup(_: Sequence[str]) -> int:
    setup()
    print(f"Ready: {PYTHON}")
    return 0


def command_demo(args: Sequence[str]) -> int:
    setup()
    return _in_venv("sample_scenes/demo.py", *args)


def command_test(args: Sequence[str]) -> int:
    setup()
    rest = [arg for arg in args if arg != "--blender"]
    chosen = any((ROOT / arg.partition("::")[0]).exists() for arg in rest)
    if "--blender" in args:
        compiled_loops.compile_for(find_blender.prepare())
        return _in_venv("-m", "pytest", *rest, *(() if chosen else BLENDERS_TOGETHER))
    together, environment = ((), SOLVER) if chosen else (TOGETHER, SHARED)
    return _in_venv("-m", "pytest", *together, *rest, environment=environment)


def command_lint(args: Sequence[str]) -> int:
    setup()
    fix = "--fix" in args
    checks = (
        _in_venv("-m", "ruff", "check", ".", *(["--fix"] if fix else [])),
        _in_venv("-m", "ruff", "format", ".", *([] if fix else ["--check"])),
        _types(),
        _in_venv("-m", "codespell_lib"),
        _in_venv("-m", "tools.prose"),
    )
    return max(checks)


def command_bench(args: Sequence[str]) -> int:
    setup("bench")
    return _in_venv("-m", "benchmarks", *args)


def command_verify(args: Sequence[str]) -> int:
    setup()
    return _in_venv("-m", "verification", *args, environment=SOLVER)


def command_golden(args: Sequence[str]) -> int:
    setup()
    # One thread, since sums that threads share depend on their number.
    threads = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return _in_venv("-m", "supple.tests.golden", *args, environment={**SOLVER, **threads})


def command_storms(args: Sequence[str]) -> int:
    setup()
    return _in_venv("-m", "verification.storms", *args, environment=SOLVER)


def command_looks(args: Sequence[str]) -> int:
    setup()
    return _in_venv("-m", "looks", *args)


def command_docs(args: Sequence[str]) -> int:
    setup("docs")
    site = ROOT / "build" / "docs"
    status = _in_venv("-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(site), *args)
    print(site / "index.html")
    return status


def command_build(args: Sequence[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036, since dev.py runs on what a machine has
        return _run(fitting_python.fitting_python(), "dev.py", "build", *args)
    pythons = [arg for arg in args if arg != "--compiled"]
    loops = _compiled_loops(pythons) if "--compiled" in args else None
    archive = extension_zip.build(ROOT, ROOT / "dist", loops)
    print(f"{archive} ({archive.stat().st_size / 1024:.0f} KB)", flush=True)
    return 0


def _compiled_loops(pythons: Sequence[str]) -> Path:
    """The folder of the present sources' loops, completed for this machine's Pythons.

    It may hold loops of other systems, when it was copied from one to the next.

    Args:
        pythons: further ones, which have the solver.

    Raises:
        LoopsError: a Python could not compile them.
    """
    setup()
    version_here = fitting_python.version_of([str(PYTHON)])
    programs = [str(PYTHON), *pythons]
    for version in fitting_python.VERSIONS:
        if version == version_here:
            continue
        program = compiled_loops.make_solver_python(version)
        if program is None:
            words = ".".join(map(str, version))
            print(f"There is no Python {words} here to compile the loops for.", flush=True)
        else:
            programs.append(program)
    for program in programs:
        compiled_loops.compile_with(program)
    if blender := find_blender.prepared():
        compiled_loops.compile_for(blender)
    return compiled_loops.folder()


def command_wheels(args: Sequence[str]) -> int:
    options = wheels.parsed(args, ROOT / "build" / "wheels")
    setup()
    words = wheels.pip_words(ROOT / "requirements" / "solver.txt", options)
    status = _in_venv("-m", "pip", "--disable-pip-version-check", *words)
    print(options.folder, flush=True)
    return status


def command_blender(args: Sequence[str]) -> int:
    blender = find_blender.prepare()
    if not args:
        compiled_loops.compile_for(blender)
        return 0
    with real_blender.ending(blender.start([blender.executable, *args])) as process:
        return process.wait()


def _types() -> int:
    """mypy must find the checkout under the package's name, whatever the folder is called."""
    folder = ROOT / "build" / "types"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "supple"
    if link.resolve() != ROOT:  # it may lead to where the checkout was before
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT, target_is_directory=True)
    return _run(str(PYTHON), "-m", "mypy", environment={"MYPYPATH": str(folder)})


def _in_venv(*args: str, environment: dict[str, str] | None = None) -> int:
    return _run(str(PYTHON), *args, environment=environment)


def _run(*argv: str, quiet: bool = False, environment: dict[str, str] | None = None) -> int:
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(
        argv, cwd=ROOT, stdout=output, stderr=output, env={**os.environ, **(environment or {})}
    ).returncode


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "setup": command_setup,
    "demo": command_demo,
    "test": command_test,
    "lint": command_lint,
    "bench": command_bench,
    "verify": command_verify,
    "golden": command_golden,
    "storms": command_storms,
    "looks": command_looks,
    "docs": command_docs,
    "build": command_build,
    "wheels": command_wheels,
    "blender": command_blender,
}


_ERRORS = (
    *(DevError, debian.DebianError, real_blender.BlenderError),
    *(fitting_python.NoFittingPythonError, compiled_loops.LoopsError),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("args", nargs=argparse.REMAINDER, help="passed on (to pytest, …)")
    chosen = parser.parse_args()
    try:
        return COMMANDS[chosen.command](chosen.args)
    except _ERRORS as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
