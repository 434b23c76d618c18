"""Runs inside Blender: plays one scenario, a generator driven by a timer, with simulated events.

    blender --enable-event-simulate --python stage.py -- '{"scenario": …, "result": …, …}'

A scenario file has one function, `scenario(ui)`, that says `yield from ui.…` for whatever takes
time. An exception in it, a failed `assert` too, ends Blender with the traceback in the result
file and a picture of the screen.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np

ADDON = "bl_ext.user_default.supple"
TICK = 0.001  # seconds between steps; Blender handles all waiting events in between
# Where buttons are in the sidebar's width; most are in the first column.
COLUMNS = (0.15, 0.9, 0.4, 0.65, 0.84)
# Numbers that are typed need the character beside the key.
_DIGITS = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")
Steps = Generator[None, None, None]


class ScenarioError(AssertionError):
    """A scenario waited or looked in vain."""


@dataclass(frozen=True)
class Button:
    """A button seen in a region: where it is in the window, and the Python it stands for."""

    x: int
    y: int
    command: str

    @property
    def operator(self) -> str:
        """`bpy.ops.mesh.primitive_cube_add(size=2)` → `mesh.primitive_cube_add`."""
        return self.command.removeprefix("bpy.ops.").partition("(")[0]


class Ui:
    """A user's hands and eyes on Blender's first window."""

    def __init__(self, name: str, screenshots: Path, work: Path, arguments: dict[str, Any]) -> None:
        self.name = name
        self.screenshots = screenshots
        self.work = work
        self.arguments = arguments
        self._mouse = (0, 0)
        self._seen: dict[str, Button] = {}  # by operator; may have moved since
        self._place = ("UI", "VIEW_3D")  # the region and the editor with the buttons

    # --- time ---

    def wait(self, seconds: float) -> Steps:
        """Wait for a time, and for as many turns of Blender's loop as make it draw twice, which
        may take longer on a busy machine."""
        end = time.monotonic() + seconds
        for turn in itertools.count():
            if turn >= 4 and time.monotonic() >= end:
                return
            yield

    def wait_for(self, condition: Callable[[], Any], what: str, timeout: float = 60.0) -> Steps:
        """Wait until `condition()` is true.

        Raises:
            ScenarioError: `what` did not come true within `timeout` seconds.
        """
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise ScenarioError(f"Waited {timeout:g} s in vain for: {what}")
            yield

    def redraw(self) -> Steps:
        for area in self.window.screen.areas:
            area.tag_redraw()
        yield from self.wait(0.4)  # panels that open or move are animated

    # --- what is there ---

    @property
    def window(self) -> bpy.types.Window:
        return bpy.context.window_manager.windows[0]

    def area(self, kind: str = "VIEW_3D") -> bpy.types.Area:
        for area in self.window.screen.areas:
            if area.type == kind:
                return area
        raise ScenarioError(f"No {kind} editor in the window.")

    def region(self, kind: str = "WINDOW", area: str = "VIEW_3D") -> bpy.types.Region:
        for region in self.area(area).regions:
            if region.type == kind:
                return region
        raise ScenarioError(f"No {kind} region in {area}.")

    def context(self, region: str = "WINDOW", area: str = "VIEW_3D") -> Any:
        """For `with ui.context():` around operators called from Python, as in the 3D view."""
        return bpy.context.temp_override(
            window=self.window, area=self.area(area), region=self.region(region, area)
        )

    def clear(self, last: int) -> None:
        """Takes the default cube away; frames up to `last` go to this scenario's own folder."""
        scene = bpy.context.scene
        scene.frame_end, scene.supple.cache_folder = last, str(self.work / "cache")
        with self.context():
            bpy.data.objects.remove(bpy.data.objects["Cube"])

    def screenshot(self, name: str) -> Steps:
        """Keep a picture of the whole screen as build/screenshots/<scenario>-<name>.png."""
        yield from self.redraw()
        self.screenshots.mkdir(parents=True, exist_ok=True)
        path = str(self.screenshots / f"{self.name}-{name}.png")
        if os.environ.get("DISPLAY") and shutil.which(
            "import"
        ):  # ImageMagick's; under Xvfb Blender's own picture is black
            # Stronger compression takes longer than all else on a busy machine.
            fast = ["-define", "png:compression-level=1"]
            subprocess.run(["import", "-window", "root", *fast, path], check=True, timeout=120)
        else:
            with self.context():
                bpy.ops.screen.screenshot(filepath=path)

    def reports(self) -> list[str]:
        """The texts of Blender's reports so far, oldest first, as its Info editor shows them."""
        area = self.area(self._place[1])
        kind, clipboard = area.ui_type, bpy.context.window_manager.clipboard
        area.ui_type = "INFO"
        try:
            with bpy.context.temp_override(window=self.window, area=area, region=area.regions[-1]):
                bpy.ops.info.select_all(action="SELECT")
                bpy.ops.info.report_copy()
            lines = str(bpy.context.window_manager.clipboard).splitlines()
            return [line for line in lines if "ui.copy_python_command_button" not in line]
        finally:
            area.ui_type = kind
            bpy.context.window_manager.clipboard = clipboard

    # --- hands ---

    def move(self, x: float, y: float) -> Steps:
        """Move the mouse, in the window's pixels from its lower left corner."""
        self._mouse = (int(x), int(y))
        self._event("MOUSEMOVE", "NOTHING")
        yield

    def click(self, x: float, y: float, button: str = "LEFTMOUSE") -> Steps:
        yield from self.move(x, y)
        yield from self._tap(button)

    def key(self, key: str, *, ctrl: bool = False, shift: bool = False, alt: bool = False) -> Steps:
        """Press and release a key (`"Z"`, `"ESC"`, `"RET"`) where the mouse is.

        An open popup (an error report) takes the keys: close it with ESC first.
        """
        yield from self._tap(key, ctrl=ctrl, shift=shift, alt=alt)

    def type(self, words: str) -> Steps:
        """Type lower-case letters and spaces where the mouse is."""
        for letter in words:
            key = "SPACE" if letter == " " else letter.upper()
            self._event(key, "PRESS", unicode=letter)
            yield
            self._event(key, "RELEASE")
            yield

    def hover(self, region: str = "WINDOW", area: str = "VIEW_3D") -> Steps:
        """Move the mouse to the middle of a region, so that its keys are the ones that work."""
        where = self.region(region, area)
        yield from self.move(where.x + where.width / 2, where.y + where.height / 2)

    def _tap(self, kind: str, **modifiers: bool) -> Steps:
        self._event(kind, "PRESS", **modifiers)
        yield
        self._event(kind, "RELEASE", **modifiers)
        yield

    def _event(self, kind: str, value: str, **details: Any) -> None:
        x, y = self._mouse
        self.window.event_simulate(type=kind, value=value, x=x, y=y, **details)

    def stop_playing(self) -> Steps:
        """Stop the animation where it plays, as it does after a simulation."""
        if self.window.screen.is_animation_playing:
            with self.context():
                bpy.ops.screen.animation_cancel(restore_frame=False)
        yield from self.wait(0.3)

    # --- the add-on ---

    def module(self, name: str) -> Any:
        """A module of the installed add-on (`"worker.session"`)."""
        return importlib.import_module(f"{ADDON}.addon.{name}")

    def notices(self) -> list[str]:
        """The texts of the hints that the sidebar shows."""
        return [each.text for each in self.module("reports.notices").notices(bpy.context)]

    def simulate(self) -> Steps:
        """Click Simulate, wait for the end of the run, and stop playing."""
        yield from self.click_button("supple.simulate")
        yield from self.wait(1.0)
        yield from self.wait_for_end()
        yield from self.wait(0.5)
        yield from self.stop_playing()

    def wait_for_end(self, timeout: float = 300.0) -> Steps:
        """Wait until a run has ended and shows its last frame, some time after its worker ends."""
        runs = self.module("runs")
        yield from self.wait_for(lambda: runs.current is None, "the end of the run", timeout)

    def plays(self, name: str) -> bool:
        """Whether an object shows simulated frames."""
        find_modifier = self.module("modifiers").find_modifier
        return find_modifier(bpy.data.objects[name]) is not None

    def problems(self) -> list[str]:
        """The texts of the sidebar's hints and of what it says is ignored."""
        return self.notices() + list(self.module("reports.ignored").messages(bpy.context))

    # --- objects ---

    def new_file(self, name: str, last: int) -> Steps:
        """Choose File › New › General; frames up to `last` go to a folder of that name."""
        with self.context():
            bpy.ops.wm.read_homefile(app_template="")
        yield from self.wait(0.5)
        scene = bpy.context.scene
        scene.frame_end, scene.supple.cache_folder = last, str(self.work / name)
        yield from self.open_sidebar("Supple")

    def new_object(
        self, name: str, last: int, add: Callable[[], Any]
    ) -> Generator[None, None, bpy.types.Object]:
        """A new file (``new_file``) in which ``add`` has replaced the default cube."""
        yield from self.new_file(name, last)
        yield from self.delete_selected()
        with self.context():
            add()
        return bpy.context.object

    def make_soft(self, obj: bpy.types.Object, operator: str = "supple.add") -> Steps:
        """Click a button that makes the selected object a soft body."""
        yield from self.click_button(operator)
        yield from self.wait_for(lambda: obj.supple.enabled, f"{obj.name} to become soft")

    def simulate_cleanly(self) -> Steps:
        """Simulate (``simulate``), and check that the sidebar reports no problem."""
        yield from self.simulate()
        assert not self.problems(), self.problems()

    def delete_selected(self) -> Steps:
        """Press X and Enter over the 3D view, which deletes the selected objects."""
        count = len(bpy.data.objects)
        yield from self.hover()
        yield from self.key("X")
        yield from self.wait(0.5)
        yield from self.key("RET")
        yield from self.wait_for(lambda: len(bpy.data.objects) < count, "the objects to be deleted")

    def transform(self, operator: str, axis: str, amount: str) -> Steps:
        """Press an operator's key, an axis, the digits of an amount, and Enter over the 3D view."""
        yield from self.hover()
        for key in (operator, axis):
            yield from self.key(key)
            yield from self.wait(0.2)
        for digit in amount:
            self._event(_DIGITS[int(digit)], "PRESS", unicode=digit)
            yield
            self._event(_DIGITS[int(digit)], "RELEASE")
            yield from self.wait(0.2)
        yield from self.key("RET")
        yield from self.wait(0.3)

    def press_i(self, obj: bpy.types.Object) -> Steps:
        """Press I over the 3D view, which keys the selected object at the present frame."""
        yield from self.hover()
        yield from self.key("I")
        yield from self.wait(0.3)
        assert obj.animation_data and obj.animation_data.action, "a key"

    def activate(self, name: str) -> None:
        """Select one object alone, and make it the active one."""
        for obj in bpy.context.view_layer.objects:
            obj.select_set(obj.name == name)
        bpy.context.view_layer.objects.active = bpy.data.objects[name]

    def shape(self, obj: bpy.types.Object, frame: int) -> Any:
        """(V, 3) positions in the world of the evaluated mesh at a frame."""
        bpy.context.scene.frame_set(frame)
        evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        values = np.empty(len(evaluated.data.vertices) * 3, dtype=np.float32)
        evaluated.data.vertices.foreach_get("co", values)
        world = np.array(evaluated.matrix_world)
        return values.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]

    def assert_clean_log(self) -> None:
        """Check that the console shows neither a traceback nor frames that do not fit."""
        log = (self.work / "blender.log").read_text()
        assert "mismatch" not in log and "Traceback" not in log, log

    # --- the sidebar ---

    def open_sidebar(self, tab: str = "Supple") -> Steps:
        """Show the 3D view's sidebar with the wanted tab in front.

        Raises:
            ScenarioError: there is no such tab.
        """
        self.area().spaces.active.show_region_ui = True
        region = self.region("UI")
        yield from self.wait_for(lambda: region.width > 1, "the sidebar to open")
        yield from self.redraw()
        try:
            region.active_panel_category = tab
        except TypeError as missing:
            raise ScenarioError(f"No sidebar tab named {tab}.") from missing
        yield from self.redraw()

    def open_preferences(self, addon: str) -> Steps:
        """Show the preferences of an add-on in place of the 3D view, and look for buttons there."""
        self.area().type = "PREFERENCES"
        bpy.context.preferences.active_section = "ADDONS"
        bpy.context.window_manager.addon_search = addon
        self._place = ("WINDOW", "PREFERENCES")
        self._seen.clear()
        yield from self.redraw()
        with self.context(*self._place):
            bpy.ops.preferences.addon_expand(module=ADDON)
        yield from self.redraw()

    def close_preferences(self) -> Steps:
        """Show the 3D view again."""
        self.area("PREFERENCES").type = "VIEW_3D"
        self._place = ("UI", "VIEW_3D")
        self._seen.clear()
        yield from self.redraw()

    def unfold(self, name: str) -> None:
        """Lets a panel of the tab Supple (`"find"`) be open where it is closed by default."""
        panel = getattr(bpy.types, f"SUPPLE_PT_{name}")
        bpy.utils.unregister_class(panel)
        panel.bl_options = set()
        bpy.utils.register_class(panel)

    def buttons(
        self, wanted: str = "", is_quick: bool = False
    ) -> Generator[None, None, list[Button]]:
        """The operator buttons of the sidebar, or the preferences, as it is now scrolled.

        `found = yield from ui.buttons()`. The mouse passes over the region, and Blender itself
        says which Python command the button under it stands for. It stops after the button of
        the operator `wanted`. `is_quick` leaves out rows that begin with something else.
        """
        region = self.region(*self._place)
        scale = bpy.context.preferences.system.ui_scale
        width = region.width - 30 * scale  # without the strip of tabs on the right
        # Not the edge, by which the editor is resized.
        lowest = int(region.y + 12 * scale)
        rows = list(range(region.y + region.height - 6, lowest, -int(16 * scale)))
        found: list[Button] = []
        for part in COLUMNS:
            x, hits = int(region.x + part * width), []
            for y in rows:
                command = yield from self._command_at(x, y)
                hits += [y] if command else []
                if command and command not in [button.command for button in found]:
                    found.append(Button(x, y, command))
                    self._seen[found[-1].operator] = found[-1]
                    if found[-1].operator == wanted:
                        return found
            if is_quick and part == COLUMNS[0]:
                rows = hits
        return found

    def find_button(self, operator: str) -> Generator[None, None, Button]:
        """The sidebar's button for an operator (`"supple.simulate"`), scrolled into view.

        Raises:
            ScenarioError: no such button; the message names those seen.
        """
        yield from self.redraw()
        known = self._seen.get(operator)
        if known and (yield from self._command_at(known.x, known.y)) == known.command:
            return known
        seen: set[str] = set()
        for is_quick in (True, False):
            while self._scrolls("up"):
                yield
            is_further = True
            while is_further:
                yield from self.redraw()
                found = yield from self.buttons(operator, is_quick)
                seen.update(button.operator for button in found)
                if operator in seen:
                    return found[-1]
                is_further = self._scrolls("down")
        raise ScenarioError(
            f"No button for {operator} in the sidebar, only: {seen}. (Is a popup open?)"
        )

    def click_button(self, operator: str) -> Steps:
        """Find and click the sidebar's button for an operator.

        Raises:
            ScenarioError: no such button, or it is greyed out by its operator's poll.
        """
        button = yield from self.find_button(operator)
        module, _, name = operator.partition(".")
        with self.context(*self._place):
            if not getattr(getattr(bpy.ops, module), name).poll():
                raise ScenarioError(f"The button for {operator} is greyed out.")
        yield from self.click(button.x, button.y)

    def scroll_to_end(self) -> Steps:
        """Scroll the sidebar down, as for buttons that are greyed and cannot be found."""
        while self._scrolls("down"):
            yield
        yield from self.redraw()

    def _command_at(self, x: int, y: int) -> Generator[None, None, str]:
        yield from self.move(x, y)
        if self._command_under_mouse():  # perhaps still that of where the mouse came from
            yield from self.move(x + 1, y)
            yield from self.wait(0.05)
        return self._command_under_mouse()

    def _command_under_mouse(self) -> str:
        manager = bpy.context.window_manager
        manager.clipboard = ""
        with self.context(*self._place):
            if bpy.ops.ui.copy_python_command_button.poll():
                bpy.ops.ui.copy_python_command_button()
        return str(manager.clipboard)

    def _scrolls(self, direction: str) -> bool:
        """Scroll the sidebar by its height; False when it was at its end."""
        with self.context(*self._place):
            view = bpy.context.region.view2d
            scroll = getattr(bpy.ops.view2d, f"scroll_{direction}")
            before = view.region_to_view(0, 0)[1]
            if scroll.poll():
                scroll(page=True)
            return bool(view.region_to_view(0, 0)[1] != before)


# --- playing ----------------------------------------------------------------------------------


def load_scenario(path: Path) -> Callable[[Ui], Steps]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.scenario


def performance(orders: dict[str, Any]) -> Steps:
    """Play the scenario, write down how it went, and quit Blender."""
    path = Path(orders["scenario"])
    ui = Ui(path.stem, Path(orders["screenshots"]), Path(orders["work"]), orders["arguments"])
    story = ""
    try:
        yield from ui.wait(0.3)  # the window's first draw
        yield from load_scenario(path)(ui)
    except Exception:  # noqa: BLE001 - whatever went wrong is the scenario's result
        story = traceback.format_exc()
        yield from ui.screenshot("failed")
    finally:
        result = Path(orders["result"])
        partial = result.with_suffix(".partial")
        partial.write_text(json.dumps({"traceback": story}))
        partial.replace(result)
        bpy.ops.wm.quit_blender()


def main() -> None:
    steps = performance(json.loads(sys.argv[sys.argv.index("--") + 1]))

    def step() -> float | None:
        try:
            next(steps)
        except StopIteration:
            return None
        return TICK

    bpy.app.timers.register(step, first_interval=TICK, persistent=True)


if __name__ == "__main__":
    main()
