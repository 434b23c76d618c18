# SPDX-License-Identifier: GPL-3.0-or-later
"""Which settings each run of a sweep has."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from supple.core import SceneError
from supple.core.sweep import Span, Sweep


def test_all_points_of_a_grid_are_run_once() -> None:
    sweep = Sweep(grid={"a": [1, 2], "b": Span(0.0, 1.0, 3)})
    runs = [tuple(sweep.values(k).values()) for k in range(len(sweep))]
    assert sorted(runs) == [(a, b) for a in (1, 2) for b in (0.0, 0.5, 1.0)]


def test_lists_go_together_and_with_every_point_of_the_grid() -> None:
    sweep = Sweep(grid={"g": ["x", "y"]}, lists={"a": [1, 2, 3], "b": [4, 5, 6]})
    runs = {tuple(sweep.values(k).values()) for k in range(len(sweep))}
    assert runs == {(g, a, a + 3) for g in "xy" for a in (1, 2, 3)}


def test_random_samples_lie_within_their_limits_and_do_not_depend_on_each_other() -> None:
    axes = {"a": Span(0.1, 10.0, is_log=True), "b": ["x", "y"], "c": Span(-1.0, 1.0)}
    sweep = Sweep(grid={"g": [1, 2]}, random=axes, samples=500, seed=3)
    assert len(sweep) == 1000
    runs = [sweep.values(k) for k in range(500)]
    assert all(0.1 <= run["a"] <= 10.0 and -1.0 <= run["c"] <= 1.0 for run in runs)
    # Half of the logarithms lie below their middle.
    assert 200 < sum(run["a"] < 1.0 for run in runs) < 300
    assert 200 < sum(run["b"] == "x" for run in runs) < 300
    assert Sweep(random=axes, samples=500, seed=3).values(7) == {
        name: value for name, value in runs[7].items() if name != "g"
    }
    assert sweep.values(507) == {**runs[7], "g": 2}
    assert Sweep(random=axes, samples=500, seed=4).values(7) != runs[7]


def test_a_span_of_logarithms_has_even_ratios_and_its_exact_limits() -> None:
    span = Span(0.1, 1000.0, 5, is_log=True)
    values = [span.at(k / 4) for k in range(5)]
    assert values[0] == 0.1 and values[-1] == 1000.0
    assert [math.log10(b / a) for a, b in itertools.pairwise(values)] == pytest.approx([1.0] * 4)


def test_a_sweep_is_the_same_after_json() -> None:
    sweep = Sweep(
        grid={"a": Span(0.0, 1.0, 3)}, lists={"b": ["x"]}, random={"c": Span(1.0, 2.0)}, samples=2
    )
    assert Sweep.of(json.loads(json.dumps(sweep.record()))) == sweep


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Sweep(grid={"a": []}), "a needs a list of values"),
        (lambda: Sweep(grid={"a": "xy"}), "a needs a list of values"),
        (lambda: Sweep(grid={"a": Span(0.0, 1.0)}), "a needs a count"),
        (lambda: Sweep(grid={"a": [1]}, random={"a": [2]}), "a is varied twice"),
        (lambda: Sweep(lists={"a": [1], "b": [1, 2]}), "as many values as each other: a 1, b 2"),
        (lambda: Sweep(grid={"a": [1]}, samples=0), "samples must be a whole number from 1"),
        (lambda: Sweep(grid={"a": [1]}, seed=-1), "seed must be a whole number from 0"),
        (lambda: Span(0.0, 1.0, is_log=True), "above 0 for logarithms"),
        (lambda: Span(0.0, float("nan")), "finite"),
        (lambda: Span("low", 1.0), "must be a number"),
        (lambda: Span(0.0, 1.0, 1), "whole number from 2"),
    ],
)
def test_what_is_no_sweep_is_refused(make, said: str) -> None:
    with pytest.raises(SceneError, match=said):
        make()


def test_ten_thousand_runs_are_known_by_their_numbers() -> None:
    sweep = Sweep(grid={name: Span(0.0, 1.0, 10) for name in "abcd"})
    assert len(sweep) == 10_000
    assert len({tuple(sweep.values(k).values()) for k in range(len(sweep))}) == 10_000
    with pytest.raises(IndexError):
        sweep.values(10_000)
