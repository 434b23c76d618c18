# SPDX-License-Identifier: GPL-3.0-or-later
"""Install Solver while it downloads, without a window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from supple.addon.operators.install_solver import SUPPLE_OT_install_solver as Operator


@pytest.mark.parametrize("is_playing", [True, False])
def test_esc_stops_the_animation_before_it_cancels_the_download(is_playing: bool) -> None:
    cancelled: list[Any] = []
    operator = SimpleNamespace(cancel=cancelled.append, report=lambda *_: None)
    context = SimpleNamespace(screen=SimpleNamespace(is_animation_playing=is_playing))
    event = SimpleNamespace(type="ESC", value="PRESS")
    result = Operator.modal(operator, context, event)
    assert result == ({"PASS_THROUGH"} if is_playing else {"CANCELLED"})
    assert bool(cancelled) is not is_playing
