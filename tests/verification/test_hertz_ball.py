# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from supple.verification.hertz_ball import Ball


def test_the_contact_radius_and_approach_are_hertzs() -> None:
    ball = Ball(0.1, 1e6, 0.3, 10.0)
    assert ball.contact_radius == pytest.approx(8.804e-3, rel=1e-4)
    assert ball.half_space_approach == pytest.approx(0.775e-3, rel=1e-3)


def test_the_whole_ball_comes_nearer_to_the_half_space_as_the_contact_shrinks() -> None:
    # A first-order correction: half the contact radius, half of it.
    missing = []
    for force in (80.0, 10.0):
        ball = Ball(0.1, 1e6, 0.3, force)
        missing.append(1.0 - ball.approach() / ball.half_space_approach)
    assert missing[0] / missing[1] == pytest.approx(2.0, abs=0.2)
    assert 0.0 < missing[1] < 0.1
