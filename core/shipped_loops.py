# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled loops that come with the extension, so that its first simulation waits for none, and the
processor that loops are compiled for."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

# Only from this installation: a loop is read by pickle, which can run any code.
FOLDER = Path(__file__).absolute().parent / "shipped"

_PROCESSOR, _FEATURES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"
# The features of LLVM's x86-64-v3, which Intel's and AMD's processors have had since 2015.
_X86_64_V3 = (
    *("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf"),
    *("sse3", "sse4.1", "sse4.2", "ssse3", "xsave"),
)


def choose_processor() -> None:
    """Let numba compile for most processors rather than for this one, so that the loops of one
    machine serve others.

    A previous choice is kept, also if numba is already loaded.
    """
    if "numba" in sys.modules or _PROCESSOR in os.environ or _FEATURES in os.environ:
        return
    if common := _common_processor():
        os.environ[_PROCESSOR], features = common
        os.environ[_FEATURES] = ",".join(f"+{feature}" for feature in features)


def _common_processor() -> tuple[str, Sequence[str]] | None:
    """LLVM's name of a processor that this machine can stand in for, and its features."""
    if (sys.platform, platform.machine()) == ("darwin", "arm64"):
        return "apple-m1", ("neon",)
    try:
        features = import_module("llvmlite.binding").get_host_cpu_features()
    except (ImportError, RuntimeError):  # no numba either, or a machine that LLVM does not know
        return None
    return ("x86-64-v3", _X86_64_V3) if all(map(features.get, _X86_64_V3)) else None


def name() -> str:
    """Return the folder's name for the compilation target of numba, the Python and the numba
    that read it; empty where that is this machine's own processor.
    """
    numba = import_module("numba")
    processor = numba.config.CPU_NAME
    # Short, since Windows limits paths to 260 characters, and these take half of them.
    python = "py{}{}".format(*sys.version_info)
    return f"{sys.platform}-{processor}-{python}-{numba.__version__}" if processor else ""


def index_of(loop_cache: Any, module: str, root: Path = FOLDER) -> Any:
    """Numba's index of the shipped versions of a loop, and the files that it names; None where
    there can be none.

    Args:
        loop_cache: numba's cache of the loop.
        module: of the loop.
        root: the folder of all of them.
    """
    inside = module.removeprefix(f"{__package__}.")
    if inside == module or not name():
        return None
    folder = root.joinpath(name(), *inside.split(".")[:-1])
    cache_file = loop_cache._cache_file
    return type(cache_file)(str(folder), loop_cache._impl.filename_base, cache_file._source_stamp)


def write(loops: Sequence[Any], root: Path) -> None:
    """Rewrite the folder of compiled loops for this processor and Python from numba's cache.

    Args:
        loops: those that all simulations need, compiled or taken from the disk.
        root: the folder of all of them, whichever Python or machine they are for.
    """
    shutil.rmtree(root / name(), ignore_errors=True)
    for loop in loops:
        cache_file = loop._cache._cache_file
        shipped = index_of(loop._cache, loop.py_func.__module__, root)
        target = loop.targetctx.codegen().magic_tuple()
        # Loops that Python calls have only the variants used here; loops that loops call have all
        # parts, so that other variants compile sooner.
        files = {
            key: file
            for key, file in cache_file._load_index().items()
            if key[1] == target and (key[-1] or key[0] in loop.overloads)
        }
        for file in files.values():
            Path(shipped._cache_path).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(cache_file._data_path(file), shipped._data_path(file))
        if files:
            shipped._save_index(files)
