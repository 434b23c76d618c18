# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads the solver and compiles its loops before they are needed, by simulating tiny scenes.

Compiled loops stay on the disk, so that only the first worker of an installation takes long, and
none if loops come with the extension. It reports its progress in lines such as ``preparing 0.42``
on standard output, for Blender to show.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import threading
from functools import cache
from pathlib import Path

from .. import first_use, shipped_loops
from ..errors import SuppleError
from ..garbage import kept_for_good
from ..scene.scene import Scene
from . import tiny_scenes
from .log import last_line, report
from .tiny_scenes import Piece

# The path from which modules are loaded; numba distinguishes installations by it.
ROOT = Path(__file__).absolute().parents[1]
# Inlined loops have no file of their own.
_LOOP = re.compile(rb"^@compiled\((?![^)]*\binline=).*?^def (\w+)", re.MULTILINE | re.DOTALL)


def kept_ratio() -> float:
    """The ratio of compiled loops to all loops in the sources, loaded or not, so that it never
    falls; 0 where none is kept."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    files = Path(folder).glob("*/*.nbi") if folder else ()
    cached = {(path.parent.name, path.name) for path in files}
    shipped = shipped_loops.FOLDER / shipped_loops.name()
    indices = _index_files()
    there = [index in cached or (shipped / path).exists() for index, path in indices.items()]
    return sum(there) / len(there)


@cache
def _index_files() -> dict[tuple[str, str], Path]:
    """Folders and names of numba's index files of each loop, and their places among the loops that
    ship with the extension."""
    python = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    places = {}
    for path in ROOT.rglob("*.py"):
        place = hashlib.sha1(str(path.parent).encode(), usedforsecurity=False).hexdigest()
        source = path.read_bytes()
        for loop in _LOOP.finditer(source):
            line = source.count(b"\n", 0, loop.start()) + 1
            name = f"{path.stem}.{loop[1].decode()}-{line}.{python}.nbi"
            shipped = path.relative_to(ROOT).with_name(name)
            places[f"{path.parent.name}_{place}", name] = shipped
    return places


_PREPARING = "preparing "
_MARK = "prepared"


def prepare_for(scene: Scene) -> None:
    """Load and compile the loops that the first frames of such a scene need."""
    _prepare(_report_when_compiling)
    _prepare(tiny_scenes.tetrahedra)
    _prepare(tiny_scenes.explicit_steps)
    if any(body.plasticity is not None for body in scene.bodies):
        _prepare(tiny_scenes.plasticity)
    if any(body.has_gas for body in scene.bodies):
        _prepare(tiny_scenes.gas)
    if any(body.changes_rest_shape for body in scene.bodies):
        _prepare(tiny_scenes.rest_shape)
    if scene.contact is not None:
        _prepare(tiny_scenes.overlap)
        _prepare(tiny_scenes.clearance)


class _WantedError(Exception):
    """The process is needed for other work than compiling."""


def prepare_everything(stop_event: threading.Event) -> None:
    """Load and compile the loops that simulations need, until ``stop_event`` is set."""
    _thread.stop_event = stop_event
    try:
        _prepare_all()
    except _WantedError:
        return
    finally:
        _thread.stop_event = None
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        # Without a writable folder loops are not kept either, and the next session compiles them
        # again.
        with contextlib.suppress(OSError):
            (Path(folder) / _MARK).write_bytes(_fingerprint().encode())
    report("prepared")


def _prepare_all() -> None:
    _prepare(_report_when_compiling)
    for piece in tiny_scenes.PIECES:
        _stop_if_wanted()
        _prepare(piece)


def ship(root: Path) -> None:
    """Compile the loops of simulations into a folder that comes with the extension.

    Raises:
        SuppleError: if the loops would not run on other machines.
    """
    from ..compiled import loops

    if not shipped_loops.name():
        raise SuppleError(
            "Loops compiled here serve no other machine: Supple compiles for x86-64-v3 and Apple "
            "Silicon, and this processor is neither."
        )
    with contextlib.redirect_stdout(None):  # hundreds of lines, of how far it is
        prepare_everything(threading.Event())
    shipped_loops.write(loops, root)


def is_prepared(folder: Path) -> bool:
    """Whether ``prepare_everything`` went through with loops kept in a folder, for these files."""
    try:
        return (folder / _MARK).read_bytes() == _fingerprint().encode()
    except OSError:
        return False


def progress(output: Path) -> float | None:
    """Return the fraction of all loops that were cached when a worker began with one, 0 … 1; None
    when it compiles none.

    Args:
        output: the file it prints to.
    """
    last = last_line(output)
    ratio = last.removeprefix(_PREPARING)
    is_ratio = last.startswith(_PREPARING) and re.fullmatch(r"\d\.\d\d", ratio)
    return float(ratio) if is_ratio else None


def report_compiling() -> None:
    """Print the ratio of compiled loops, if this process compiles one right now."""
    if _is_compiling:
        report(f"{_PREPARING}{kept_ratio():.2f}")


_lock = threading.Lock()
# The flag of a thread that prepares until this process is needed.
_thread = threading.local()
_is_compiling = False
_prepared: set[Piece] = set()


def _prepare(piece: Piece) -> None:
    """Run a piece once a process; waits where another thread runs it."""
    with _lock:
        if piece in _prepared:
            return
        # If loops cannot be kept, the simulation also fails to keep them and reports it.
        with contextlib.suppress(OSError):
            with kept_for_good():
                piece()
            _prepared.add(piece)


def _report_when_compiling() -> None:
    first_use.silence()
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: object) -> None:
            global _is_compiling
            _is_compiling = True
            report_compiling()
            # A piece takes up to half a minute, and a loop a few seconds.
            _stop_if_wanted()

        def on_end(self, event: object) -> None:
            global _is_compiling
            _is_compiling = False

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


def _stop_if_wanted() -> None:
    """Stop compiling where this thread is to end.

    Raises:
        _WantedError: if this thread has to end.
    """
    stop_event: threading.Event | None = getattr(_thread, "stop_event", None)
    if stop_event is not None and stop_event.is_set():
        raise _WantedError


@cache
def _fingerprint() -> str:
    """Return a value that changes with every file for which numba would recompile; constant in a
    process."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(root.rglob("*.py"))
    stats = [(str(path.relative_to(root)), path.stat()) for path in files]
    known = [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]
    return hashlib.sha256(repr((str(root), known)).encode()).hexdigest()
