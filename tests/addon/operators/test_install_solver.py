# SPDX-License-Identifier: GPL-3.0-or-later
"""Install Solver while it downloads, without a window."""

from __future__ import annotations

import platform
import sys
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from supple.addon.operators.solver import SUPPLE_OT_install_solver as Operator
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.worker import solver_environment, solver_install, solver_packages

from ..layout import drawn


@pytest.mark.parametrize("is_playing", [True, False])
def test_esc_stops_the_animation_before_it_cancels_the_download(is_playing: bool) -> None:
    cancelled: list[Any] = []
    operator = SimpleNamespace(cancel=cancelled.append, report=lambda *_: None)
    context = SimpleNamespace(screen=SimpleNamespace(is_animation_playing=is_playing))
    event = SimpleNamespace(type="ESC", value="PRESS")
    result = Operator.modal(operator, context, event)
    assert result == ({"PASS_THROUGH"} if is_playing else {"CANCELLED"})
    assert bool(cancelled) is not is_playing


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    app = SimpleNamespace(online_access=False)
    monkeypatch.setattr(solver_install, "bpy", SimpleNamespace(app=app))


@pytest.mark.usefixtures("offline")
def test_offline_it_is_refused_before_it_asks_with_the_cure() -> None:
    with pytest.raises(RuntimeError, match="Turn on Preferences > System > Network > Allow Online"):
        bpy.ops.supple.install_solver()


@pytest.mark.usefixtures("offline")
def test_offline_the_panel_says_so_above_the_button(scene, monkeypatch) -> None:
    monkeypatch.setattr(solver_environment, "find", lambda: None)
    text = " ".join(text for _, text in drawn(SUPPLE_PT_main, None).texts)
    assert "Online access is off. Turn on Preferences > System" in text


@pytest.mark.parametrize(
    ("system", "machine", "lacking", "text"),
    [
        ("win32", "AMD64", [], "about 242 MB: PyTorch 132 MB, numba 45 MB, SciPy 37 MB, "),
        ("darwin", "arm64", [], "about 198 MB: PyTorch 122 MB, numba 43 MB, SciPy 20 MB, "),
        ("linux", "x86_64", [], "about 2.9 GB: PyTorch 2.7 GB, numba 64 MB, SciPy 35 MB, "),
        ("win32", "AMD64", ["scipy==1.17.1"], "about 37 MB: SciPy 37 MB"),
        ("plan9", "vax", ["scipy==1.17.1"], "SciPy"),
    ],
)
def test_the_question_says_how_much_is_downloaded(
    monkeypatch, system: str, machine: str, lacking: list[str], text: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(solver_install, "missing", lambda: lacking)
    assert solver_install.download_size().startswith(text)


def test_every_package_has_its_size_on_every_system() -> None:
    names = {each.name for each in solver_packages.packages()}
    assert names == {*solver_packages._MEASURED}
