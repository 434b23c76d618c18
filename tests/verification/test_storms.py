# SPDX-License-Identifier: GPL-3.0-or-later
"""Small fast bodies in explicit steps: every move that is accepted is checked."""

from __future__ import annotations

import pytest

from supple.verification.storms import INTEGRATORS, SCENES, Tally, course, run

SEED = 59


@pytest.mark.parametrize("name", SCENES)
def test_nothing_goes_through_anything(name) -> None:
    tally = Tally()
    for kind in INTEGRATORS[:4]:
        run(course(name, kind, SEED, 0), kind(), tally, frames=1)
    assert tally.failures == 0
    assert tally.refused == {}
    assert tally.pairs > 0


def test_a_run_is_the_same_for_the_same_seed() -> None:
    first, again = (course("storm", INTEGRATORS[0], SEED, 1) for _ in range(2))
    other = course("storm", INTEGRATORS[0], SEED, 2)
    assert first.bodies[0].velocity == again.bodies[0].velocity != other.bodies[0].velocity
