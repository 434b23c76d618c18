# SPDX-License-Identifier: GPL-3.0-or-later
"""A layout that keeps what panels draw, in place of Blender's, which exists only in a window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy


class Layout:
    """Keeps (icon, text) of labels, and the names of buttons and settings."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self.buttons: list[str] = []
        self.settings: list[str] = []
        self.labels: list[str] = []

    def label(self, text: str, icon: str = "NONE") -> None:
        self.texts.append((icon, text))

    def progress(self, factor: float, text: str) -> None:
        assert 0.0 <= factor <= 1.0
        self.texts.append(("", text))

    def operator(self, name: str, text: str = "", **_: Any) -> SimpleNamespace:
        self.buttons.append(name)
        self.labels += [text] if text else []
        return SimpleNamespace()

    def menu(self, name: str, text: str = "", **_: Any) -> None:
        self.buttons.append(name)

    def operator_menu_enum(self, operator: str, setting: str, text: str, icon: str) -> None:
        self.buttons.append(operator)
        self.labels.append(text)

    def prop(self, owner: Any, name: str, text: str | None = None, **_: Any) -> None:
        self.settings.append(name)
        self.labels.append(owner.bl_rna.properties[name].name if text is None else text)

    def prop_search(self, owner: Any, name: str, *_: Any, text: str | None = None) -> None:
        self.prop(owner, name, text)

    def template_icon(self, icon_value: int, scale: float) -> None:
        self.texts.append(("", "plot"))

    def template_list(self, name: str, *_: Any, **options: Any) -> None:
        self.settings.append(name)

    def column(self, **_: Any) -> Layout:
        return self

    row = box = split = column


def around(obj: bpy.types.Object | None, is_playing: bool = False) -> Any:
    """A context as panels have it, with an active object, while an animation plays or not."""
    context = bpy.context
    return SimpleNamespace(
        object=obj,
        scene=context.scene,
        view_layer=context.view_layer,
        selected_objects=list(context.selected_objects),
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),
        region=SimpleNamespace(width=4000),
        screen=SimpleNamespace(is_animation_playing=is_playing),
    )


def drawn(panel: Any, obj: bpy.types.Object | None, is_playing: bool = False) -> Layout:
    """Draw a panel for an active object, its header included."""
    layout = Layout()
    own = {name: getattr(panel, name) for name in ("panel", "tick") if hasattr(panel, name)}
    drawing = SimpleNamespace(layout=layout, **own)
    if hasattr(panel, "draw_header"):
        panel.draw_header(drawing, around(obj))
    panel.draw(drawing, around(obj, is_playing))
    return layout
