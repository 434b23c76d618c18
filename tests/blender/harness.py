"""Runs outside Blender: the zip installed in a fresh user profile, and scenarios played there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from supple.tests.without_solver import WITHOUT_SOLVER
from supple.tools.real_blender import REPOSITORY, Blender, ending

HERE = Path(__file__).resolve().parent
SCENARIOS = HERE / "scenarios"
BUILD = REPOSITORY / "build"
SCREENSHOTS = BUILD / "screenshots"
WINDOW = ("--window-geometry", "0", "0", "1600", "1000")
ADDON = "bl_ext.user_default.supple"
# Redraws take long without a graphics card: nothing smooth, and a sidebar beside the 3D view,
# not over it, so that pointing at a button does not redraw the scene.
PREFERENCES = """
import bpy
preferences = bpy.context.preferences
preferences.view.show_splash = False
preferences.system.viewport_aa = "OFF"
preferences.system.use_region_overlap = False
bpy.ops.wm.save_userpref()
"""


@dataclass(frozen=True)
class InstalledBlender:
    """A Blender whose user has installed and enabled one extension."""

    blender: Blender
    profile: Path
    display: str

    def run(self, *args: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
        """`blender ARGS` to its end, in the background or as a command; never raises on failure."""
        return self.blender.run(
            [self.blender.executable, *args],
            environment=self._environment(),
            folder=BUILD,
            timeout=timeout,
        )

    def python(self, code: str, *before: str, timeout: float = 120.0) -> str:
        """Run Python in `blender -b`; `before` may name a .blend file. Answers what it printed.

        Raises:
            AssertionError: the code raised; the message holds the traceback.
        """
        argv = ["-b", *before, "--python-exit-code", "1", "--python-expr", code]
        done = self.run(*argv, timeout=timeout)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def play(self, scenario: Path, timeout: float = 420.0, **arguments: Any) -> None:
        """Play a scenario in a window; `arguments` are `ui.arguments` there.

        Raises:
            AssertionError: it failed, hung or took Blender down; the message says how.
        """
        work = fresh_folder(BUILD / "blender" / "work" / scenario.stem)
        for picture in SCREENSHOTS.glob(f"{scenario.stem}-*.png"):
            picture.unlink()
        result, log = work / "result.json", work / "blender.log"
        orders = {
            "scenario": str(scenario),
            "result": str(result),
            "screenshots": str(SCREENSHOTS),
            "work": str(work),
            "arguments": arguments,
        }
        stage = ["--python", str(HERE / "stage.py"), "--", json.dumps(orders)]
        argv = [self.blender.executable, "--enable-event-simulate", *WINDOW, *stage]
        with log.open("w") as file, ending(self._start(argv, work, file)) as process:
            status = self._wait(process, timeout, SCREENSHOTS / f"{scenario.stem}-hung.png")
        _judge(status, result, log, timeout)

    def _start(self, argv: list[str], folder: Path, log: IO[str]) -> subprocess.Popen[str]:
        return self.blender.start(
            argv,
            environment=self._environment(),
            folder=folder,
            stdout=log.fileno(),
            stderr=subprocess.STDOUT,
        )

    def _wait(self, process: subprocess.Popen[str], timeout: float, picture: Path) -> int | None:
        """The exit status, or None and a picture of the screen when it takes too long."""
        try:
            return process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            picture.parent.mkdir(parents=True, exist_ok=True)
            if self.display and self.blender.has("import"):
                take = ["import", "-window", "root", str(picture)]
                self.blender.run(take, environment=self._environment(), timeout=30)
            return None

    def _environment(self) -> dict[str, str]:
        return {"DISPLAY": self.display, "BLENDER_USER_RESOURCES": str(self.profile)}


def _judge(status: int | None, result: Path, log: Path, timeout: float) -> None:
    story = json.loads(result.read_text())["traceback"] if result.exists() else ""
    if not story and status is None:
        story = f"Blender was still running after {timeout:g} s and was killed."
    elif not story and not result.exists():
        story = f"Blender ended with status {status} before the scenario did."
    elif not story and status != 0:
        story = f"The scenario went well; then Blender ended with status {status}."
    if story:
        raise AssertionError(f"{story}\nThe end of {log}:\n" + tail(log.read_text()))


def tail(text: str, lines: int = 30) -> str:
    return "\n".join(text.splitlines()[-lines:])


def beside(name: str) -> Path:
    """A folder of this process alone, where several test side by side."""
    return BUILD / "blender" / os.environ.get("PYTEST_XDIST_WORKER", "alone") / name


def fresh_folder(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def install(blender: Blender, archive: Path, display: str) -> InstalledBlender:
    """Install and enable an extension's zip in a user profile of its own.

    Raises:
        AssertionError: Blender refuses the zip, or enabling it failed.
    """
    installed = InstalledBlender(blender, fresh_folder(beside("profile")), display)
    startup = fresh_folder(installed.profile / "scripts" / "startup")
    (startup / "without_solver.py").write_text(f"{WITHOUT_SOLVER}\ndef register(): pass\n")
    checked = installed.run("--command", "extension", "validate", str(archive))
    assert checked.returncode == 0, checked.stdout
    command = ["--command", "extension", "install-file", "-r", "user_default", "--enable"]
    done = installed.run(*command, str(archive))
    assert done.returncode == 0, done.stdout
    installed.python(PREFERENCES)
    return installed
