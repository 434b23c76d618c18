# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that simulate, tetrahedralize and run the tools of the panel Goals."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty

from ...core.errors import SuppleError
from ...core.materials.presets import PRESETS
from .. import examples, ids, runs
from ..capture import control, fingerprint
from ..capture.objects import is_soft_body, left_out, soft_bodies
from ..examples import EXAMPLES
from ..fits.fit_run import Fit
from ..fits.table import TOOLS
from ..named import named
from ..playback import mesh_cache
from ..properties import presets, selection
from ..remembered import redraw_panels
from ..reports import coarse_meshes
from ..runs import ResumedRun, Simulation, Tetrahedralization
from ..translations import translated
from ..units import played_frame
from .base import BodiesOperator, WorkerOperator, chosen_bodies

ASK, SOFT, COLLIDER, LEAVE = "ask", "soft", "collider", "leave"
# Objects that the user wants left out, until Blender is closed.
_left_out: set[int] = set()


class SimulationOperator(WorkerOperator):
    """An operator that simulates all soft bodies and plays the frames."""

    _run: Simulation
    # The frame where the playhead was last put, or was.
    _playhead: int
    # Whether the frames so far have begun to play.
    _has_played = False

    def take_in(self, context: bpy.types.Context) -> None:
        """Make soft bodies and colliders before the run."""
        raise NotImplementedError

    def begin_run(self: Any, context: bpy.types.Context) -> Simulation:
        self.take_in(context)
        self._playhead = context.scene.frame_current
        return Simulation(context)

    def show(self: Any, context: bpy.types.Context) -> None:
        """The scene's playhead follows the newest frame, or the frames so far play again and again,
        until the user puts it elsewhere or stops the animation."""
        newest = played_frame(context.scene, self._run.playback.last_shown)
        if context.scene.supple.play_while_simulating:
            self._play_again(context, newest)
        elif newest != self._playhead and self._leads_playhead(context):
            context.scene.frame_set(newest)
            self._playhead = newest

    def _play_again(self: Any, context: bpy.types.Context, newest: int) -> None:
        """Begin to play the frames so far, and go back to the first one after the newest."""
        first = played_frame(context.scene, self._run.first_shown)
        if not self._has_played and newest > first and self._leads_playhead(context):
            self._has_played = True
            context.scene.frame_set(first)
            bpy.ops.screen.animation_play()
        is_here = context.scene.session_uid == self._run.scene_uid
        is_playing = self._has_played and context.screen.is_animation_playing
        if is_here and is_playing and context.scene.frame_current > newest:
            context.scene.frame_set(first)

    def show_result(self: Any, context: bpy.types.Context) -> None:
        """Play the frames from the first one, where the playhead has followed them to the end."""
        if self._leads_playhead(context):
            context.scene.frame_set(played_frame(context.scene, self._run.first_shown))
            bpy.ops.screen.animation_play()

    def _leads_playhead(self: Any, context: bpy.types.Context) -> bool:
        """Whether the playhead of this scene is where the run has put it, and stands still."""
        scene = context.scene
        is_here = scene.session_uid == self._run.scene_uid
        is_still = scene.frame_current == self._playhead and not context.screen.is_animation_playing
        return is_here and is_still

    def make_soft(
        self: Any, context: bpy.types.Context, objects: list[bpy.types.Object], subdivide: bool
    ) -> None:
        """Make meshes soft bodies, with enough vertices to bend visibly where it is wanted."""
        self.report({"INFO"}, translated(selection.make_soft(context, objects)))
        # Steps of their own: undoing the simulation leaves the soft body.
        _push_undo("Add Soft Body")
        coarse = [obj for obj in objects if coarse_meshes.is_plain(obj)] if subdivide else []
        for obj in filter(coarse_meshes.hides_bending, coarse):
            coarse_meshes.subdivide(obj)
            count = len(obj.data.vertices)
            text = (
                f"Subdivided {obj.name} to bend visibly: {count} vertices, same shape. Undo "
                "reverts this."
            )
            self.report({"INFO"}, translated(text))
            _push_undo("Subdivide")


class SUPPLE_OT_simulate(SimulationOperator, bpy.types.Operator):
    """Simulate all soft bodies. Selected meshes are added first. Resumes a cancelled run"""

    bl_idname = ids.SIMULATE
    bl_label = "Simulate"

    newcomers: EnumProperty(
        name="Selected Meshes",
        description="Use of selected meshes that are not soft bodies yet",
        items=[
            (ASK, "Ask", "Make soft bodies if the scene has none, otherwise ask"),
            (SOFT, "Make Soft Bodies", "Simulate them as well"),
            (COLLIDER, "Make Colliders", "Let soft bodies land on them"),
            (LEAVE, "Leave Out", "Simulate without them"),
        ],
        default=ASK,
        options={"HIDDEN", "SKIP_SAVE"},
    )

    subdivide: BoolProperty(
        name="Subdivide Coarse Meshes",
        description="Give new soft bodies enough vertices to bend visibly",
        default=True,
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if reason := super().unavailable_reason(context):
            return reason
        if soft_bodies(context) or selection.newcomers(context):
            return ""
        return " ".join(left_out(context)) or selection.why_none(context)

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if self.newcomers == ASK and soft_bodies(context) and not bpy.app.background:
            undecided = _undecided(context)
            if undecided:
                _ask(context, undecided)
                return {"CANCELLED"}
        return super().invoke(context, event)

    def take_in(self: Any, context: bpy.types.Context) -> None:
        new = selection.newcomers(context)
        if self.newcomers == LEAVE:
            _left_out.update(obj.session_uid for obj in new)
        elif self.newcomers == COLLIDER:
            for obj in new:
                obj.supple.collider = True
        elif new and (self.newcomers == SOFT or not soft_bodies(context)):
            self.make_soft(context, new, self.subdivide)


class SUPPLE_OT_resume(SimulationOperator, bpy.types.Operator):
    """Keep the frames up to the playhead, and simulate the rest with the present settings. It
    begins at the last frame whose state is kept, which every tenth frame is"""

    bl_idname = ids.RESUME
    bl_label = "Resume from Here"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if reason := super().unavailable_reason(context):
            return reason
        return "" if mesh_cache.shown_folder(context.scene) else "Press Simulate first."

    def begin_run(self: Any, context: bpy.types.Context) -> Simulation:
        resumed = ResumedRun.of(context.scene)
        self._playhead = context.scene.frame_current
        return Simulation(context, resumed=resumed)


JELLY = "gelatine_dessert"


class SUPPLE_OT_quick_jelly(SimulationOperator, bpy.types.Operator):
    """Make the selected meshes wobble like jelly, and simulate them"""

    bl_idname = ids.QUICK_JELLY
    bl_label = "Quick Jelly"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if reason := super().unavailable_reason(context):
            return reason
        if chosen_bodies(context) or selection.candidates(context):
            return ""
        return selection.why_none(context)

    def take_in(self, context: bpy.types.Context) -> None:
        if new := selection.candidates(context):
            self.make_soft(context, new, subdivide=True)
        for obj in chosen_bodies(context):
            presets.apply_to_size(context.scene, obj, PRESETS[JELLY])


def _push_undo(message: str) -> None:
    if not bpy.app.background:
        bpy.ops.ed.undo_push(message=message)


def _undecided(context: bpy.types.Context) -> list[bpy.types.Object]:
    return [obj for obj in selection.newcomers(context) if obj.session_uid not in _left_out]


def _ask(context: bpy.types.Context, objects: list[bpy.types.Object]) -> None:
    several = len(objects) > 1
    choices = (
        (SOFT, "Make Them Soft Bodies" if several else "Make It a Soft Body", "ADD"),
        (COLLIDER, "Make Them Colliders" if several else "Make It a Collider", "MOD_PHYSICS"),
        (LEAVE, "Simulate Without Them" if several else "Simulate Without It", "PLAY"),
    )

    def draw(popup: bpy.types.Menu, _context: bpy.types.Context) -> None:
        popup.layout.operator_context = "INVOKE_DEFAULT"
        for choice, text, icon in choices:
            popup.layout.operator(ids.SIMULATE, text=text, icon=icon).newcomers = choice

    is_none = "are not soft bodies" if several else "is not a soft body"
    title = translated(f"{named(objects, 'meshes')} {is_none} yet")
    context.window_manager.popup_menu(draw, title=title)


class SUPPLE_OT_add_example(SimulationOperator, bpy.types.Operator):
    """Add an example beside the objects of the scene, and simulate it"""

    bl_idname = ids.ADD_EXAMPLE
    bl_label = "Add Example"

    example: EnumProperty(
        name="Example",
        description="Scene to learn from",
        items=[(name, each.label, each.tip) for name, each in EXAMPLES.items()],
    )

    def take_in(self: Any, context: bpy.types.Context) -> None:
        example, builder = EXAMPLES[self.example], examples.builder(context)
        bodies = example.build(builder)
        objects = list(builder.collection.objects)
        for obj in context.selected_objects:
            obj.select_set(False)
        for obj in objects:
            obj.select_set(True)
        context.view_layer.objects.active = (bodies or objects)[0]
        if bodies:
            selection.make_soft(context, bodies)
        example.finish(builder, bodies)
        _push_undo("Add Example")
        _look_at_selected(context)


def _look_at_selected(context: bpy.types.Context) -> None:
    """Let the 3D view frame the selected objects, where the button was pressed in one."""
    area = context.area
    if area is not None and area.type == "VIEW_3D":
        region = next(each for each in area.regions if each.type == "WINDOW")
        with context.temp_override(area=area, region=region):
            bpy.ops.view3d.view_selected()


class SUPPLE_OT_cancel(bpy.types.Operator):
    """Stop and keep the frames so far. Simulate resumes from there"""

    bl_idname = ids.CANCEL
    bl_label = "Cancel"
    bl_options = {"INTERNAL"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return runs.current is not None

    def execute(self, context: bpy.types.Context) -> set[str]:
        runs.is_cancelling = True
        return {"FINISHED"}


class SUPPLE_OT_pause(bpy.types.Operator):
    """Pause the simulation, or let it go on"""

    bl_idname = ids.PAUSE
    bl_label = "Pause"
    bl_options = {"INTERNAL"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return isinstance(runs.current, Simulation)

    def execute(self, context: bpy.types.Context) -> set[str]:
        run = runs.current
        assert isinstance(run, Simulation)  # asked by poll
        try:
            if run.is_paused:
                run.resume()
            else:
                run.pause()
        except SuppleError as error:
            self.report({"ERROR"}, translated(str(error)))
            return {"CANCELLED"}
        redraw_panels()
        return {"FINISHED"}


class SUPPLE_OT_tetrahedralize(WorkerOperator, bpy.types.Operator):
    """Fill all soft bodies with tetrahedra and show them, without simulating"""

    bl_idname = ids.TETRAHEDRALIZE
    bl_label = "Tetrahedralize"

    def begin_run(self, context: bpy.types.Context) -> Tetrahedralization:
        return Tetrahedralization(context)


class SUPPLE_OT_find(WorkerOperator, bpy.types.Operator):
    """Find how the active soft body reaches a goal"""

    bl_idname = ids.FIND
    bl_label = "Find"

    changes_meanwhile = False

    tool: EnumProperty(
        name="Tool",
        items=[(name, tool.label, tool.description) for name, tool in TOOLS.items()],
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def description(cls: Any, context: bpy.types.Context, properties: Any) -> str:
        return TOOLS[properties.tool].description

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if reason := super().unavailable_reason(context):
            return reason
        return "" if is_soft_body(context.object) else "Select a soft body."

    def begin_run(self: Any, context: bpy.types.Context) -> Fit:
        return Fit(context, context.object, self.tool)


class SUPPLE_OT_remove_control(BodiesOperator, bpy.types.Operator):
    """Remove the forces or the pin motion that make the body follow its keys"""

    bl_idname = ids.REMOVE_CONTROL
    bl_label = "Let Go of Keys"

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        control.remove(obj)
        fingerprint.forget()
        return f"{obj.name} no longer follows its keys."
