# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supple.benchmarks import time_stepping
from supple.benchmarks.drop import FRAMES, Drop
from supple.benchmarks.own_process import Measured
from supple.benchmarks.peers.engines import ENGINES
from supple.benchmarks.peers.run import simulate
from supple.verification.meshes import block


@pytest.fixture(scope="module")
def drop() -> Drop:
    return Drop.of(block((2, 2, 2)), 1e5, 0.45)


def _reference(drop: Drop, own_error: float = 1e-3) -> time_stepping.Reference:
    return time_stepping.Reference(
        steps=256,
        stable_steps=4,
        masses=drop.masses,
        surface=np.unique(drop.mesh.surface),
        positions=np.zeros((FRAMES, len(drop.mesh.vertices), 3)),
        own_error=own_error,
    )


def _measured(drop: Drop, off: float, seconds: float, frames: int = FRAMES) -> Measured:
    positions = np.zeros((frames, len(drop.mesh.vertices), 3))
    positions[..., 0] = off
    record: dict[str, Any] = {
        "steps": 8,
        "stable": frames == FRAMES,
        "frame_seconds": [seconds / FRAMES] * FRAMES,
        "set_up_seconds": 0.1,
        "peak_memory_mb": 100.0,
        "work": {},
    }
    return Measured(record, positions)


def test_shorter_steps_lead_the_reference_to_a_limit_with_the_first_order(drop: Drop) -> None:
    peer = ENGINES[time_stepping.REFERENCE].hold(drop)
    runs = [np.array(simulate(peer, drop, steps).positions) for steps in (64, 128, 256, 512)]
    apart = [time_stepping._root_mean_square(fine - coarse) for coarse, fine in pairwise(runs)]
    ratios = np.array(apart[:-1]) / apart[1:]
    np.testing.assert_allclose(ratios, 2.0, rtol=0.3)


def test_a_row_has_its_error_beside_that_of_its_reference(drop: Drop) -> None:
    turns = [[_measured(drop, 0.02, seconds)] for seconds in (1.0, 3.0, 2.0)]
    (row,) = time_stepping._rows(turns, "", _reference(drop))
    assert row["rms_error_m"] == pytest.approx(0.02)
    assert row["com_error_m"] == pytest.approx(0.02)
    assert row["reference_error_m"] == 1e-3
    assert row["seconds_a_simulated_second"] == pytest.approx(2.0)


def test_a_run_that_did_not_come_to_its_end_has_no_error(drop: Drop) -> None:
    turns = [[_measured(drop, 0.02, 1.0), _measured(drop, 0.02, 1.0, frames=3)]]
    whole, broken = time_stepping._rows(turns, "stopped after 75 s", _reference(drop))
    assert "rms_error_m" in whole and "rms_error_m" not in broken
    assert (whole["note"], broken["note"]) == ("", "stopped after 75 s")


def test_an_engine_without_a_run_says_why(drop: Drop) -> None:
    (row,) = time_stepping._rows([], "stopped after 75 s", _reference(drop))
    assert row == {"stable": False, "note": "stopped after 75 s"}
    (row,) = time_stepping._rows([], "", _reference(drop))
    assert row["note"] == "unstable with every number of steps"


def test_a_drop_keeps_its_masses_and_its_friction_on_the_disk(drop: Drop, tmp_path: Path) -> None:
    slippery, rough = tmp_path / "slippery.npz", tmp_path / "rough.npz"
    drop.with_equal_masses().save(slippery)
    Drop(drop.mesh, 1e4, 0.3, friction=0.5).save(rough)
    assert np.ptp(Drop.load(slippery).masses) == 0.0
    assert Drop.load(slippery).friction == 0.0
    found = Drop.load(rough)
    assert (found.young, found.poisson, found.friction) == (1e4, 0.3, 0.5)
    np.testing.assert_array_equal(found.masses, drop.masses)


def test_every_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in time_stepping.CASES]
    assert len(set(names)) == len(names)
    assert names[0] == "lattice 15 K, E = 1e5 Pa, ν = 0.45"
