# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from supple.core.minimizers.newton_search import (
    MAX_EXTRA_INERTIA,
    NEAR_DISTANCE_RATIO,
    LevenbergMarquardt,
)


def near() -> float:
    return 0.9 * NEAR_DISTANCE_RATIO


def far() -> float:
    return 1.1 * NEAR_DISTANCE_RATIO


def test_a_step_that_is_cut_short_where_surfaces_all_but_touch_makes_the_next_heavier() -> None:
    damping = LevenbergMarquardt()
    assert damping.extra_inertia == 0.0
    assert damping.update(0.05, near)
    assert damping.extra_inertia == pytest.approx(20.0)
    # Too heavy to be cut as short again, but still cut.
    assert damping.update(0.2, near)
    assert damping.extra_inertia == pytest.approx(100.0)


@pytest.mark.parametrize(("free", "gap"), [(0.05, far), (0.11, near), (1.0, near)])
def test_what_is_not_cut_or_met_anew_stays_as_light_as_it_is(free, gap) -> None:
    damping = LevenbergMarquardt()
    assert not damping.update(free, gap)
    assert damping.extra_inertia == 0.0


def test_steps_become_lighter_by_and_by_once_they_may_be_gone() -> None:
    damping = LevenbergMarquardt()
    damping.update(0.02, near)
    assert not damping.update(0.5, near)
    found = []
    for _ in range(4):
        damping.update(0.95, near)
        found.append(damping.extra_inertia)
    assert found == pytest.approx([12.5, 3.125, 0.0, 0.0])


def test_there_is_an_end_to_how_heavy_steps_become() -> None:
    damping = LevenbergMarquardt()
    for _ in range(3):
        damping.update(0.0, near)
    assert damping.extra_inertia == MAX_EXTRA_INERTIA
    assert not damping.update(0.0, near)
