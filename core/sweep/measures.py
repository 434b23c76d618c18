# SPDX-License-Identifier: GPL-3.0-or-later
"""The measures of a run, from its job folder."""

from __future__ import annotations

import hashlib
import importlib.util
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SuppleError
from ..job import Job
from ..job.log import most_contacts, total_seconds

Measures = dict[str, Any]

#: Each is a function of a job in ``measure``; the unit is of the table's head.
UNITS = {
    "height": "m",
    "spread": "m",
    "contacts": "",
    "energy": "J",
    "lag": "frames",
    "seconds": "s",
}
_ENERGIES = ("kinetic_energy", "elastic_energy", "potential_energy", "ground_energy")


def measure(job: Job, script: Path | None = None) -> Measures:
    """Measure a run.

    Args:
        job: all its frames are there.
        script: a Python file with a function ``measure(job)`` that returns a dict of further
            measures; None for none.

    Returns:
        ``height`` and ``spread``, the vertical and the widest horizontal extent of all bodies after
        the last frame, in metres; ``contacts``, the most of any frame; ``energy`` after the last
        frame in joules; ``lag``, the number of frames in which pins or colliders were blocked;
        ``seconds`` of simulation; and those of the script.

    Raises:
        SuppleError: a file of the job is damaged, or the script fails.
    """
    last = job.settings.frame_count
    points = np.concatenate([np.asarray(seen[0]) for seen in job.seen_positions(last)])
    extents = np.ptp(points, axis=0)
    records = job.records()
    energies = [records[-1].get(name) for name in _ENERGIES] if records else []
    measures: Measures = {
        "height": float(extents[2]),
        "spread": float(extents[:2].max()),
        "contacts": most_contacts(records),
        "energy": math.fsum(value for value in energies if value is not None),
        "lag": sum(bool(record.get("blocked")) for record in records),
        "seconds": total_seconds(records),
    }
    return measures if script is None else measures | _script_measures(script, job)


def script_mark(script: Path | None) -> str:
    """A text that changes with a script."""
    return "" if script is None else hashlib.sha256(script.read_bytes()).hexdigest()


def _script_measures(path: Path, job: Job) -> Measures:
    function = getattr(_module(path, script_mark(path)), "measure", None)
    if function is None:
        raise SuppleError(f"{path} has no function measure(job).")
    try:
        more = function(job)
    except Exception as error:
        raise SuppleError(f"{path} failed: {type(error).__name__}: {error}") from error
    if not isinstance(more, dict) or not all(isinstance(name, str) for name in more):
        raise SuppleError(f"{path}: measure(job) must return a dict of numbers by names.")
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in more.items()
    }


@lru_cache(maxsize=1)
def _module(path: Path, _mark: str) -> Any:
    spec = importlib.util.spec_from_file_location("supple_sweep_measures", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SuppleError(f"{path} failed: {type(error).__name__}: {error}") from error
    return module
