# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from supple.benchmarks.comparison import cell, closest_peer

REFERENCE = 1e-4


def _run(seconds: float, error: float, steps: int = 8, engine: str = "bullet") -> dict[str, Any]:
    return {
        "contender": engine,
        "steps_a_frame": steps,
        "seconds_a_simulated_second": seconds,
        "rms_error_m": error,
    }


OWN = [
    _run(1.0, 0.02, engine="supple-symplectic-euler"),
    _run(4.0, 0.01, engine="supple-symplectic-euler"),
    {"contender": "supple-bdf2", "stable": False, "note": "stopped after 75 s"},
]
FAILED = {"contender": "bullet", "stable": False, "note": "stopped after 75 s"}


def test_a_ratio_is_to_the_quickest_run_that_is_as_exact() -> None:
    assert cell(OWN, [_run(5.0, 0.03)], REFERENCE) == "5.0"
    assert cell(OWN, [_run(6.0, 0.02)], REFERENCE) == "6.0"
    assert cell(OWN, [_run(6.0, 0.015)], REFERENCE) == "1.5"
    assert cell(OWN, [_run(8.0, 0.01)], REFERENCE) == "2.0"


def test_of_several_numbers_of_steps_the_one_that_suits_the_engine_best_counts() -> None:
    assert cell(OWN, [_run(5.0, 0.03), _run(6.0, 0.015), _run(9.0, 0.01)], REFERENCE) == "1.5"


def test_an_engine_that_was_quicker_has_a_ratio_below_one() -> None:
    assert cell(OWN, [_run(0.5, 0.02)], REFERENCE) == "0.5"


def test_an_engine_that_failed_is_not_one_that_was_more_exact() -> None:
    assert cell(OWN, [FAILED], REFERENCE) == "failed"
    assert cell(OWN, [_run(5.0, 0.005)], REFERENCE) == "more exact"
    assert cell(OWN, [], REFERENCE) == "not run"


def test_runs_that_are_more_exact_are_named_beside_the_ratio_of_the_others() -> None:
    runs = [_run(8.0, 0.02, 8), _run(16.0, 0.005, 16), _run(32.0, 0.004, 32)]
    assert cell(OWN, runs, REFERENCE) == "8.0; more exact at 16, 32 steps"


def test_where_every_run_of_ours_failed_the_other_was_more_exact() -> None:
    assert cell([OWN[-1]], [_run(5.0, 0.03)], REFERENCE) == "more exact"


def test_an_error_as_large_as_the_references_own_is_marked() -> None:
    assert cell(OWN, [_run(5.0, 0.03)], 0.009) == "5.0"
    assert cell(OWN, [_run(5.0, 0.03)], 0.011) == "5.0*"
    assert cell(OWN, [_run(5.0, 0.005)], 0.002) == "more exact*"
    runs = [_run(8.0, 0.03, 8), _run(16.0, 0.005, 16)]
    assert cell(OWN, runs, 0.002) == "8.0; more exact at 16 steps*"


def test_a_run_may_have_a_reference_of_its_own() -> None:
    assert cell(OWN, [{**_run(5.0, 0.03), "reference_error_m": 0.02}], REFERENCE) == "5.0*"


def test_the_mark_is_of_the_run_that_the_ratio_is_from() -> None:
    runs = [_run(50.0, 0.02), _run(5.0, 0.04)]
    assert cell(OWN, runs, 0.01) == "5.0"


def test_the_closest_run_of_another_engine_is_none_of_ours() -> None:
    rows = [*OWN, _run(5.0, 0.03), _run(6.0, 0.02), FAILED]
    assert closest_peer(rows) == rows[4]
    assert closest_peer(OWN) is None
