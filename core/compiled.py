# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops compiled by numba, kept on disk. They serve the CPU; torch passes serve CUDA."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from . import shipped_loops
from .errors import SuppleError
from .garbage import uncollected
from .system_lock import acquire, lock_file

Loop = TypeVar("Loop", bound=Callable[..., Any])


def _find_numba() -> Any:
    shipped_loops.choose_processor()  # numba reads it when it is imported
    try:
        return import_module("numba")
    except ImportError:  # Blender's own process loads modules with loops, and calls none
        return None


numba = _find_numba()

# Exceptions for a damaged file, or a file that names code that no longer exists.
_UNREADABLE = (
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)

# Longer than any loop takes; a process that has waited this long compiles it as well.
_MAX_WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.01

_last = threading.local()
_most_threads = sys.maxsize

# The loop that is being compiled, and those that it calls, each after its caller.
_compiling: list[Any] = []

#: Every compiled loop there is.
loops: list[Any] = []
#: The kind of device that loops serve.
LOOP_DEVICE = "cpu"

#: The range that a compiled loop shares among threads.
shared_range: Any = None if numba is None else numba.prange
#: The type of a shared loop's index: threads count with unsigned integers, and callees would
#: otherwise be compiled for both types.
as_index: Any = np.int64


def runs_loops(owner: Any) -> bool:
    """Whether compiled loops, rather than torch passes, serve the ``device`` of a tensor or of
    another owner."""
    return bool(owner.device.type == LOOP_DEVICE)


def compiled(
    parallel: bool = False, inline: bool = False, allocates: bool = False
) -> Callable[[Loop], Loop]:
    """A decorator that compiles a function when it is first called.

    Args:
        parallel: whether it shares loops among threads.
        inline: whether it is inlined into its callers, as functions of tuples of arrays should be.
        allocates: whether it makes arrays, as sums that threads share do. A loop that does counts
            the references to each array that it passes on, in one place for all threads, which
            takes longer than computing a pair.
    """
    if numba is None:
        return cast(Callable[[Loop], Loop], lambda _: _refuse_without_numba)
    # The flags of fast-math that keep the order of each sum. With others, a newly compiled loop
    # and one from the disk could differ in the last bits.
    relaxed = {"nsz", "arcp"}
    options = {"parallel": parallel, "fastmath": relaxed, "error_model": "numpy"}
    options["no_cfunc_wrapper"] = True  # for callers in C; there are none
    options["_nrt"] = allocates
    if inline:
        options["inline"] = "always"

    def decorate(function: Loop) -> Loop:
        try:
            loop: Any = numba.njit(cache=True, **options)(function)
            _forget_what_is_old(loop._cache, function.__module__)
            _forget_what_is_unreadable(loop._cache)
            _take_what_is_shipped(loop._cache, function.__module__)
            _compile_parts_alone(loop)
            _compile_once(loop)
        except RuntimeError:  # nowhere to keep it: compile each time
            loop = numba.njit(**options)(function)
        loops.append(loop)
        return cast(Loop, loop)

    return decorate


def _refuse_without_numba(*_: Any) -> None:
    """Stand for a loop where numba is missing.

    Raises:
        SuppleError: always, with the cure.
    """
    raise SuppleError(
        f"The solver needs the package numba, which {sys.executable} does not have. Choose Install "
        "Solver in Supple's preferences, or install requirements/solver.txt there with pip."
    )


def _forget_what_is_old(loop_cache: Any, module: str) -> None:
    """Let numba recompile loops with inlined functions or constants from other, changed files; by
    itself it only checks the file of the loop."""
    loop_cache._cache_file._source_stamp = _stamp_of(module)


@cache
def _stamp_of(module: str) -> str:
    """Return the digest of a module's source, and of the sources that it imports from its
    package.
    """
    loaded = sys.modules[module]
    source = Path(str(loaded.__file__)).read_bytes()
    stamp = hashlib.sha256(source)
    for relative in re.findall(rb"^from (\.[.\w]*) import", source, re.MULTILINE):
        other = resolve_name(relative.decode(), loaded.__package__)
        if other in sys.modules:
            stamp.update(_stamp_of(other).encode())
    return stamp.hexdigest()


def _forget_what_is_unreadable(loop_cache: Any) -> None:
    """Let numba compile cached loops again that it cannot read, where it would fail each time."""
    load = loop_cache.load_overload

    def load_overload(*key: Any) -> Any:
        try:
            return load(*key)
        except _UNREADABLE:
            loop_cache.flush()
            return None

    loop_cache.load_overload = load_overload


def _take_what_is_shipped(loop_cache: Any, module: str) -> None:
    """Let numba load loops that ship with the extension where its cache lacks them."""
    load, shipped = loop_cache.load_overload, shipped_loops.index_of(loop_cache, module)

    def load_overload(signature: Any, target: Any) -> Any:
        if (overload := load(signature, target)) is not None:
            return overload
        # Unreadable loops are compiled, as are loops made from other sources.
        with contextlib.suppress(OSError, *_UNREADABLE):
            shipped_overload = shipped.load(loop_cache._index_key(signature, target.codegen()))
            return (
                None
                if shipped_overload is None
                else loop_cache._impl.rebuild(target, shipped_overload)
            )
        return None

    if shipped is not None:
        loop_cache.load_overload = load_overload


def _compile_parts_alone(loop: Any) -> None:
    """Let numba compile loops that only loops call without their wrapper for Python, which takes
    as long as a small loop itself; if Python calls it, it is compiled again."""
    compile_it, insert, customize = loop.compile, loop._insert, loop._compiler._customize_flags
    key_of = loop._cache._index_key
    parts: set[Any] = set()

    def is_part() -> bool:
        return len(_compiling) > 1

    def compile_part(signature: Any) -> Any:
        if not _compiling and signature in parts:
            parts.remove(signature)
            del loop.overloads[signature]
        _compiling.append(loop)
        try:
            if is_part() and signature not in loop.overloads:
                parts.add(signature)
            return compile_it(signature)
        finally:
            _compiling.pop()

    def customize_flags(flags: Any) -> Any:
        flags.no_cpython_wrapper = is_part()
        return customize(flags)

    loop.compile = compile_part
    # The variants that numba finds for a call from Python.
    loop._insert = lambda *call: None if is_part() else insert(*call)
    loop._compiler._customize_flags = customize_flags
    loop._cache._index_key = lambda *of: (*key_of(*of), is_part())


def _compile_once(loop: Any) -> None:
    """Lets one of several processes compile, and the others take it from the disk then."""
    compile_it = loop.compile
    # One thread of a process waits for others, so that none waits for its own process.
    only_thread = import_module("numba.core.compiler_lock").global_compiler_lock

    def compile_once(signature: Any) -> Any:
        # The objects of numba's compilation live until its end: collecting garbage among them
        # takes a tenth of the time.
        with only_thread, _only_process(loop._cache), uncollected():
            return compile_it(signature)

    loop.compile = compile_once


@contextlib.contextmanager
def _only_process(loop_cache: Any) -> Iterator[None]:
    """Keeps other processes from compiling a loop, where a file can be locked."""
    with lock_file(Path(f"{loop_cache._cache_file._index_path}.lock")) as descriptor:
        end = time.monotonic() + _MAX_WAIT_SECONDS
        while descriptor is not None and not acquire(descriptor) and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
        yield


def limit_threads(count: int) -> None:
    """Limit the threads of loops, from now on in this process."""
    global _most_threads
    _most_threads = count


def use_threads(work: int, work_per_thread: int) -> int:
    """Shares the next loops among as many threads as have enough to do each; how many those are."""
    most = min(numba.config.NUMBA_NUM_THREADS, _most_threads)
    count = max(1, min(most, work // work_per_thread))
    # To set it takes as long as a small loop; numba too keeps it for each thread.
    if getattr(_last, "count", 0) != count:
        numba.set_num_threads(count)
        _last.count = count
    return count
