# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple.tests.golden [--make] [NAME …]``: the same scenes end at the same bits.

With ``--make`` it records what they end at, in ``record.npz``; without, it compares: to the bit on
a machine of the kind that made the record, to a tolerance elsewhere. The exit status is 1 where
anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from supple.benchmarks.machine import describe
from supple.core import SuppleError

from . import samples
from .scenes import FRAMES, SCENES

RECORD = Path(__file__).with_name("record.npz")
# Of a scene's size, on another kind of machine: rounding differs there, and contact magnifies it.
TOLERANCE_RATIO = 1e-2
NAMES = (*SCENES, *(f"sample, {name}" for name in samples.NAMES))


def machine() -> str:
    """The kind of machine that gives the same bits."""
    facts = describe()
    return ", ".join(str(facts[key]) for key in ("processor", "system", "torch"))


def course(name: str) -> tuple[str, NDArray[np.float64]]:
    """The digest of all frames of a scene, and (N, 3) positions after the last one."""
    sample = name.removeprefix("sample, ")
    simulator: Any = samples.make(sample) if sample != name else SCENES[name]()
    digest, positions = hashlib.sha256(), np.empty((0, 3))
    for frame in simulator.run(FRAMES):
        positions = np.concatenate([each.numpy() for each in frame.positions]).astype(np.float64)
        digest.update(positions.tobytes())
        for field in sorted(frame.fields):
            for values in frame.fields[field]:
                digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest(), positions


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m supple.tests.golden", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all where none is given")
    parser.add_argument("--make", action="store_true", help="record instead of comparing")
    parsed = parser.parse_args(arguments)
    if unknown := [name for name in parsed.names if name not in NAMES]:
        parser.error(f"no scene is named {unknown[0]!r}")
    torch.set_num_threads(1)
    known: dict[str, Any] = {}
    if RECORD.exists():
        with np.load(RECORD) as record:
            known = dict(record)
    names = [name for name in NAMES if not parsed.names or name in parsed.names]
    is_same_machine = str(known.get("machine", "")) == machine()
    if parsed.make and known and not is_same_machine and len(names) < len(NAMES):
        parser.error(f"the record is of {known['machine']}: make all of it anew, without names")
    different = 0
    for name in names:
        began = time.perf_counter()
        try:
            digest, positions = course(name)
        except SuppleError as error:
            digest, positions = f"error: {error}", np.empty((0, 3))
        if parsed.make:
            known[f"{name}/digest"], known[f"{name}/positions"] = np.array(digest), positions
            verdict = "recorded"
        else:
            verdict = _compare(known, name, digest, positions, is_same_machine)
            different += verdict != "same"
        print(f"{verdict:10} {name} ({time.perf_counter() - began:.1f} s)", flush=True)
    if parsed.make:
        known["machine"] = np.array(machine())
        np.savez_compressed(RECORD, **known)
    print(f"{different} of {len(names)} differ")
    return int(different > 0)


def _compare(
    known: dict[str, Any],
    name: str,
    digest: str,
    positions: NDArray[np.float64],
    is_same_machine: bool,
) -> str:
    if f"{name}/digest" not in known:
        return "unknown"
    before = known[f"{name}/positions"]
    if str(known[f"{name}/digest"]) == digest:
        return "same"
    if not before.size or before.shape != positions.shape:
        return "DIFFERENT: other tetrahedra, or an error"
    change = float(np.abs(positions - before).max(initial=0.0))
    size = float(np.ptp(before, axis=0).max(initial=0.0))
    if not is_same_machine and change <= TOLERANCE_RATIO * size:
        return "same"
    return f"DIFFERENT by {change:.2g} m of {size:.2g} m"


if __name__ == "__main__":
    sys.exit(main())
