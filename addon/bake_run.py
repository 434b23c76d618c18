# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake the simulated frames of all soft bodies to shape keys, one step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
from numpy.typing import NDArray

from ..core.errors import SuppleError
from .bake import key_curves, shape_keys
from .cache import packed_frames
from .capture.objects import all_soft_bodies
from .modifiers import find_modifier
from .named import named
from .playback import fields, fitted_cage, mesh_cache, refined_frames, retimed
from .reports import outdated
from .runs import SteppedWork
from .steps import Steps, scaled

#: Kinds of keys, with their names and descriptions.
AUTOMATIC, FILE, EXPORT = "automatic", "file", "export"
KINDS = (
    (AUTOMATIC, "Automatic", "Export, unless so many keys would play too slowly"),
    (
        FILE,
        "This File",
        "Absolute keys, which play fastest. glTF and FBX files do not hold their motion",
    ),
    (EXPORT, "Export", "Relative keys, which glTF and FBX files hold as well"),
)
# Blender 4.5 takes about 34 ns a frame for each pair of a body's relative keys, with any number of
# vertices, and 5.2 a seventh of it: at most 17 ms.
_MOST_SQUARED_KEYS = 500_000
_ABSOLUTE = (
    "The keys are absolute: Alembic and USD files hold their motion, glTF and FBX files do "
    "not. For glTF and FBX, set Keys to Export and bake again."
)
_RELATIVE = "glTF, FBX, Alembic and USD files hold their motion."
_WITH_MODIFIERS = "glTF, FBX (without Apply Modifiers), Alembic and USD files hold their motion."


class Bake(SteppedWork):
    """A bake of all bodies. All frames are read before any mesh changes: either every body is baked
    or none.

    Args:
        context: the context of the scene to bake.
        step: the frames from key to key; there is one at the last frame, too.
        kind: of keys, one of ``KINDS``.

    Raises:
        SuppleError: when it cannot be; nothing was changed.
    """

    cancelling = "Press Esc to cancel. Nothing is baked then."
    cancelled = "Cancelled. Nothing was baked."

    def __init__(self, context: bpy.types.Context, step: int = 1, kind: str = AUTOMATIC) -> None:
        if step < 1:
            raise SuppleError(f"Frame Step must be at least 1, not {step}.")
        self._objects = _bodies(context)
        if not self._objects:
            raise SuppleError("The scene has no soft body to bake.")
        self._key_step, self._kind = step, kind
        self._frames: list[NDArray[Any]] = []
        self._starts: list[int] = []
        self._refined: list[NDArray[Any] | None] = []
        for obj in self._objects:
            positions, start = mesh_cache.read(obj)
            shape_keys.check(obj, positions)
            self._frames.append(positions)
            self._starts.append(start)
            self._refined.append(refined_frames.shown(obj))
        self._changed = "; ".join(outdated.changed_since(context, self._objects))
        self._notes = self._take_as_shown(context)
        self._steps = self._fitted()

    def describe(self) -> str:
        return "Fitting shape keys to the visible mesh"

    def finish(self, context: bpy.types.Context) -> str:
        done: list[bpy.types.Object] = []
        missing, is_absolute = outdated.message(context), self._is_absolute()
        action = key_curves.new_action(context.scene.name)
        name = action.name
        try:
            bodies = zip(self._objects, self._frames, self._starts, strict=True)
            # Among objects that share a mesh, the one with the mesh's name keeps it.
            for obj, frames, start in sorted(bodies, key=lambda each: _is_namesake(each[0])):
                step = self._key_step
                self._notes += shape_keys.bake(obj, frames, start, step, is_absolute, action)
                done.append(obj)
            if not _are_absolute(done):
                # Once is enough: FBX files hold all bodies in each take.
                any(map(key_curves.add_to_object, done))
        except SuppleError:
            for obj in done:
                shape_keys.free(obj)
            raise
        finally:
            left = bpy.data.actions.get(name)
            if left is not None and left.users == 0:
                bpy.data.actions.remove(left)
        for obj in self._objects:
            fields.remember(obj)
            shape_keys.note_run(obj, mesh_cache.run_of(obj))
            mesh_cache.detach(obj)
        parts = [self._message(), self._outdated_note(), missing, *self._notes]
        parts += [self._travel_note(), self._export_note()]
        return " ".join(filter(None, parts))

    def _travel_note(self) -> str:
        """Return a note on the files that other machines need to show the saved file."""
        left = packed_frames.travel_note(list(bpy.data.scenes))
        return left or "They play on any machine, with or without Supple."

    def _outdated_note(self) -> str:
        """Return the note that the bake shows an earlier simulation."""
        if not self._changed:
            return ""
        return (
            "The bake is out of date, since this was changed after the simulation: "
            f"{self._changed}. Simulate and bake again."
        )

    def _export_note(self) -> str:
        """A note on the exported file formats that hold the motion."""
        if _are_absolute(self._objects):
            return _ABSOLUTE
        return _WITH_MODIFIERS if any(map(_has_modifiers, self._objects)) else _RELATIVE

    def _is_absolute(self) -> bool:
        """Whether bodies without shape keys of their own get absolute ones."""
        if self._kind != AUTOMATIC:
            return self._kind == FILE
        counts = [len(shape_keys.kept_frames(len(each), self._key_step)) for each in self._frames]
        return sum(count**2 for count in counts) > _MOST_SQUARED_KEYS

    def _take_as_shown(self, context: bpy.types.Context) -> list[str]:
        """Replaces the frames of bodies that show them otherwise than they were simulated."""
        changed = list(filter(retimed.is_retimed, self._objects))
        for obj, shown in retimed.shown_frames(context, changed).items():
            index = self._objects.index(obj)
            self._frames[index], self._starts[index] = shown.frames, shown.start
            self._refined[index] = shown.refined
        if not changed:
            return []
        return [f"Baked with the edited settings of the Mesh Cache modifier: {named(changed)}."]

    def _fitted(self) -> Steps[None]:
        """Fits the frames of bodies whose visible mesh is refined from their own vertices."""
        for index, obj in enumerate(self._objects):
            if (refined := self._refined[index]) is None:
                continue
            frames = self._frames[index]
            frame_indices = shape_keys.kept_frames(len(frames), self._key_step)
            fit = fitted_cage.fitted(obj, frames, refined, frame_indices)
            share = 1.0 / len(self._objects)
            self._frames[index], note = yield from scaled(fit, share, index * share)
            self._notes += [note] if note else []

    def _message(self) -> str:
        names, count = named(self._objects), len(self._frames[0])
        keys, step = len(shape_keys.kept_frames(count, self._key_step)), self._key_step
        sparse = f", with {keys} keys, one every {step} frames and one at the last frame"
        return f"Baked {count} frames to shape keys{sparse if step > 1 else ''}: {names}."


def _are_absolute(objects: Sequence[bpy.types.Object]) -> bool:
    """Whether any body has absolute keys."""
    return any(not obj.data.shape_keys.use_relative for obj in objects)


def _has_modifiers(obj: bpy.types.Object) -> bool:
    """Whether Blender's FBX exporter applies modifiers of an object, and leaves its keys out."""
    shown = (m for m in obj.modifiers if m.show_viewport or m.show_render)
    return any(modifier.type != "ARMATURE" for modifier in shown)


def _is_namesake(obj: bpy.types.Object) -> bool:
    return bool(obj.name == obj.data.name)


def is_quick(context: bpy.types.Context) -> bool:
    """Whether all bodies are baked as they are, at once."""
    return all(refined_frames.shown_points(obj) is None for obj in _bodies(context))


def outdated_changes(context: bpy.types.Context) -> list[str]:
    """Changes since the simulation to bake, a text for each body and the scene."""
    return outdated.changed_since(context, _bodies(context))


def outdated_warning(changes: Sequence[str]) -> str:
    """The warning about changes that a bake without a question reports."""
    return f"The simulation is out of date. Changed since: {'; '.join(changes)}."


def _bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The soft bodies to bake: the visible ones, and hidden ones that have frames."""
    bodies = all_soft_bodies(context)
    return [obj for obj in bodies if obj.visible_get() or find_modifier(obj) is not None]
