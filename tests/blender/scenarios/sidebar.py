"""The tab Supple is in the sidebar, and something can be pressed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    yield from ui.open_sidebar("Supple")
    yield from ui.screenshot("open")
    buttons = yield from ui.buttons()
    assert any(button.operator.startswith("supple.") for button in buttons), buttons
