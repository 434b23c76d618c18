# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import pytest

from supple.verification.check import Subject, at_least, at_most, largest_share, near, within


def test_a_figure_within_its_tolerance_holds() -> None:
    check = near("fall", 4.9, 4.905, 0.01, "m")
    assert check.holds
    assert check.used == pytest.approx(0.5)


def test_a_wrong_reference_fails() -> None:
    assert not near("fall", 4.9, 4.95, 0.01, "m").holds
    assert not within("fall", 4.9, -4.9, 0.01, "m").holds


def test_a_share_is_taken_of_the_reference_whatever_its_sign() -> None:
    assert within("push", -99.5, -100.0, 0.01).holds
    assert not within("push", -98.5, -100.0, 0.01).holds


@pytest.mark.parametrize(("measured", "holds"), [(0.0, True), (0.9, True), (1.1, False)])
def test_an_upper_bound_is_kept_from_below(measured: float, holds: bool) -> None:
    assert at_most("creep", measured, 1.0).holds == holds


@pytest.mark.parametrize(("measured", "holds"), [(-1.0, False), (0.9, False), (1.1, True)])
def test_a_lower_bound_is_kept_from_above(measured: float, holds: bool) -> None:
    assert at_least("slide", measured, 1.0).holds == holds


@pytest.mark.parametrize("measured", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "check", [lambda x: near("", x, 1.0, 9.0, reason="wide"), lambda x: at_most("", x, 1.0)]
)
def test_what_is_not_finite_never_holds(check, measured: float) -> None:
    assert not check(measured).holds


@pytest.mark.parametrize("measured", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_above_no_bound(measured: float) -> None:
    assert not at_least("", measured, 1.0).holds


def test_a_tolerance_that_is_not_a_number_is_never_met() -> None:
    assert not near("", 1.0, 1.0, math.nan).holds


def test_one_failing_check_fails_its_subject_and_is_the_worst() -> None:
    good, bad = near("good", 1.0, 1.0, 0.01), near("bad", 2.0, 1.0, 0.01)
    subject = Subject("Both", "", "", [good, bad])
    assert not subject.holds
    assert subject.worst is bad
    assert Subject("One", "", "", [good]).holds


def test_where_nothing_was_checked_nothing_holds() -> None:
    assert not Subject("Nothing", "", "", []).holds


def test_a_tolerance_above_a_twentieth_has_to_say_why() -> None:
    assert not near("fall", 1.0, -2.0, 0.1).is_wide
    with pytest.raises(ValueError, match=r"fall: why is -2 ± 0\.11 enough"):
        near("fall", 1.0, -2.0, 0.11)
    with pytest.raises(ValueError, match="why"):
        within("fall", 1.0, 2.0, 0.06)
    assert near("fall", 1.0, -2.0, 0.11, reason="few cells").is_wide
    assert not at_most("creep", 0.1, 1.0).is_wide
    assert not near("speed", 0.0, 0.0, 0.2).is_wide


def test_a_reference_of_the_solvers_own_has_to_say_why() -> None:
    with pytest.raises(ValueError, match="why"):
        at_most("drift", 0.1, 1.0, from_solver=True)
    assert at_most("drift", 0.1, 1.0, from_solver=True, reason="as measured once").from_solver


@pytest.mark.parametrize("bound", [0.0, -0.2, math.nan])
def test_a_lower_bound_that_everything_is_above_is_refused(bound: float) -> None:
    with pytest.raises(ValueError, match="everything is above"):
        at_least("power", 1.0, bound)


def test_a_largest_share_is_of_the_largest_reference() -> None:
    assert largest_share([1.1, -4.0], [1.0, -4.0]) == pytest.approx(0.025)
