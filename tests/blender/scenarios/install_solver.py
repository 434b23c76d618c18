# SPDX-License-Identifier: GPL-3.0-or-later
"""Install Solver installs from the folder of packages in the preferences, and names a wrong one.

The packages are small ones made here, which pip installs as it does others.
"""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

HERE = f"cp{sys.version_info.major}{sys.version_info.minor}"
ELSEWHERE = "cp311-cp311-win_amd64"


def scenario(ui: Ui) -> Steps:
    chosen = ui.module("preferences").find()
    folder = ui.module("worker.solver_environment").solver_folder()
    system = bpy.context.preferences.system
    was_online, system.use_online_access = system.use_online_access, False
    try:
        yield from ui.open_preferences("Supple")
        empty = ui.work / "empty"
        empty.mkdir()
        yield from _refused(
            ui, empty, "holds no packages. On a machine with a network, collect them"
        )
        yield from _refused(
            ui,
            _fill(ui, "elsewhere", torch=ELSEWHERE),
            f"elsewhere has no torch==2.13.0 for this machine, only torch-2.13.0-{ELSEWHERE}.whl.",
        )
        assert not folder.exists()
        yield from ui.close_preferences()
        yield from _installed(ui, folder)
    finally:
        ui.module("worker.warm_worker").stop()
        chosen.solver_wheels, system.use_online_access = "", was_online
        shutil.rmtree(folder, ignore_errors=True)


def _refused(ui: Ui, folder: Path, message: str) -> Steps:
    ui.module("preferences").find().solver_wheels = str(folder)
    yield from ui.click_button("supple.install_solver")
    yield from ui.wait(0.5)
    yield from ui.key("RET")
    yield from _reported(ui, message)
    yield from ui.screenshot(folder.name)
    yield from ui.key("ESC")


def _reported(ui: Ui, message: str) -> Steps:
    reports: list[str] = []
    for _ in range(60):
        yield from ui.wait(1.0)
        reports = ui.reports()
        if any(message in line for line in reports):
            return
    raise AssertionError(f"{message!r} is not in {reports}")


def _installed(ui: Ui, folder: Path) -> Steps:
    """From a window of the preferences, which is closed meanwhile."""
    packages = _fill(ui, "packages", torch=f"{HERE}-{HERE}-{_platform()}")
    ui.module("preferences").find().solver_wheels = str(packages)
    with ui.context():
        bpy.ops.screen.userpref_show()
    yield from ui.wait(1.0)
    window = bpy.context.window_manager.windows[-1]
    assert window != ui.window
    area = window.screen.areas[0]
    with bpy.context.temp_override(window=window, area=area, region=area.regions[-1]):
        bpy.ops.supple.install_solver("INVOKE_DEFAULT")
    yield from ui.wait(1.0)
    yield from ui.screenshot("dialog")
    for value in ("PRESS", "RELEASE"):
        window.event_simulate(type="RET", value=value, x=100, y=100)
        yield
    part = folder.with_name(f"{folder.name}.part")
    yield from ui.wait_for(part.exists, "the start of the installation")
    with bpy.context.temp_override(window=window):
        bpy.ops.wm.window_close()
    yield from _reported(ui, "Supple's solver is installed.")
    assert ui.module("worker.solver_environment").holds_torch(folder)
    assert ui.module("worker.solver_packages").missing(folder) == []


def _platform() -> str:
    return re.sub("[-.]", "_", sysconfig.get_platform())


def _fill(ui: Ui, name: str, torch: str) -> Path:
    """A folder of all packages; ``torch`` has the tags of PyTorch."""
    folder = ui.work / name
    folder.mkdir()
    for package in ui.module("worker.solver_packages").packages():
        version = re.findall("[0-9][0-9.]*", package.versions)[0]
        if package.name != "torch":
            _pack(folder, package.name, version, "py3-none-any", {f"{package.name}.py": ""})
        else:
            content = {f"torch/_C{EXTENSION_SUFFIXES[0]}": ""}
            _pack(folder, "torch", version, torch, content)
    return folder


def _pack(folder: Path, name: str, version: str, tags: str, content: dict[str, str]) -> None:
    info = f"{name}-{version}.dist-info"
    files = content | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tags}\n",
    }
    rows = [f"{path},,\n" for path in [*files, f"{info}/RECORD"]]
    with zipfile.ZipFile(folder / f"{name}-{version}-{tags}.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "".join(rows))
