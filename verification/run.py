# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries the subjects out, two at a time."""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from .check import Subject, at_most
from .subjects import SUBJECTS

PROCESSES = 2


def each(names: Sequence[str]) -> Iterator[tuple[str, Subject, float]]:
    """Name, outcome and seconds of each, whichever is done first."""
    # One thread each: the two must not stand in each other's way.
    os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    started = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, started) as pool:
        # The last of the page take longest.
        for done in as_completed([pool.submit(_timed, name) for name in reversed(names)]):
            yield done.result()


def _timed(name: str) -> tuple[str, Subject, float]:
    began = time.perf_counter()
    subject = outcome(name, SUBJECTS[name])
    return name, subject, time.perf_counter() - began


def outcome(name: str, run: Callable[[], Subject]) -> Subject:
    """A subject; where it cannot be checked at all, one that fails and says why."""
    try:
        return run()
    except Exception as error:  # noqa: BLE001 - whatever it is, the page has to show it
        traceback.print_exc()
        why = f"{type(error).__name__}: {error}".replace("\n", " ").replace("|", "/")
        broken = at_most(f"runs to its end ({why})", float("nan"), 0.0)
        return Subject(name.replace("_", " ").capitalize(), "", "", [broken])
