# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of settings: the property, panel row, capture and paint of each, in one row.

A property has the name that files keep, the label and tooltip that artists see, and limits. Blender
has no unit for pressures, densities and rates: these stand in the tooltips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..units import exact_float

Shown = Callable[[bpy.types.PropertyGroup], Any]

#: Names of the properties by which panels show a setting: the tick *Auto*, and its percentage.
AUTOMATIC, PERCENT = "auto_{}", "percent_{}"


@dataclass(frozen=True)
class Kind:
    """Blender's function that makes a property, and its keywords."""

    make: Callable[..., Any]
    keywords: dict[str, Any]


def number(
    default: float = 0.0,
    low: float | None = None,
    high: float | None = None,
    soft: tuple[float | None, float | None] = (None, None),
    **more: Any,
) -> Kind:
    """A number within ``low`` and ``high``, whose slider goes from ``soft[0]`` to ``soft[1]``."""
    limits = {"min": low, "max": high, "soft_min": soft[0], "soft_max": soft[1]}
    there = {name: value for name, value in limits.items() if value is not None}
    is_whole = isinstance(default, int)
    return Kind(IntProperty if is_whole else FloatProperty, {"default": default, **there, **more})


def factor(default: float, low: float = 0.0) -> Kind:
    """A number up to 1 as a slider."""
    return number(default, low, 1.0, subtype="FACTOR")


def length(default: float = 0.0, **more: Any) -> Kind:
    """A number of metres, shown in the unit of the scene."""
    return number(default, **more, subtype="DISTANCE", unit="LENGTH")


def switch(default: bool = False) -> Kind:
    """A tick."""
    return Kind(BoolProperty, {"default": default})


def menu(items: Iterable[Any], default: str | None = None, **more: Any) -> Kind:
    """One choice of several, each with its name, label and tooltip."""
    chosen = {} if default is None else {"default": default}
    return Kind(EnumProperty, {"items": list(items), **chosen, **more})


def text(**more: Any) -> Kind:
    """A name or a path."""
    return Kind(StringProperty, more)


def group() -> Kind:
    """The name of a vertex group of the object."""
    return Kind(StringProperty, {})


def vector(**more: Any) -> Kind:
    """Three numbers."""
    return Kind(FloatVectorProperty, more)


def pointer(kind: type) -> Kind:
    """Another data block."""
    return Kind(PointerProperty, {"type": kind})


def rows() -> Kind:
    """A list of settings, whose class the property names."""
    return Kind(CollectionProperty, {})


@dataclass(frozen=True)
class Setting:
    """A setting of an object or a scene.

    Args:
        name: of the property, which files keep.
        label: for panels; empty for hidden settings.
        kind: of the property.
        tip: the tooltip.
        panel: the panel that draws it, in the order of the rows; empty where a panel draws it
            itself.
        shown: whether it is drawn with these settings; None for always.
        is_keyed: whether the solver takes it frame by frame. Others cannot be keyed or driven, and
            ``reports/ignored`` names the keys that older files have on them.
        captured: the argument of ``core``'s body that gets the number; empty where capture reads
            it in another way.
        changes_frames: whether other frames are simulated with another value.
        paint: the least part of it that unpainted vertices may keep; None if it has no paint.
        unit: of the number, where Blender has none for it.
        automatic: the value that switching *Auto* off sets, for a setting whose 0 is automatic.
        is_percent: whether panels show the factor as a percentage.
        more: other keywords of Blender's property.
    """

    name: str
    label: str
    kind: Kind
    tip: str = ""
    panel: str = ""
    shown: Shown | None = None
    is_keyed: bool = False
    captured: str = ""
    changes_frames: bool = True
    paint: float | None = None
    unit: str = ""
    automatic: float | None = None
    is_percent: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    def property(self, **changed: Any) -> Any:
        """The annotation from which Blender makes the property, with some keywords changed."""
        if not self.label:
            return self.kind.make(**self.kind.keywords, options={"HIDDEN"} | _flags(self))
        options = {"ANIMATABLE"} if self.is_keyed else set()
        keywords = {"options": options | _flags(self), **self.kind.keywords, **self.more, **changed}
        return self.kind.make(name=self.label, description=self.tooltip(), **keywords)

    def tooltip(self) -> str:
        """The tooltip, with the unit."""
        return f"{self.tip}. Unit: {self.unit}" if self.unit else self.tip

    def views(self) -> dict[str, Any]:
        """The annotations of properties by which panels show it otherwise. Files keep none."""
        views = {}
        if self.automatic is not None:
            views[AUTOMATIC.format(self.name)] = self._automatic_tick(self.automatic)
        if self.is_percent:
            views[PERCENT.format(self.name)] = self._percentage()
        return views

    def _automatic_tick(self, first_value: float) -> Any:
        def is_automatic(props: bpy.types.PropertyGroup) -> bool:
            return bool(getattr(props, self.name) == 0)

        def tick(props: bpy.types.PropertyGroup, is_on: bool) -> None:
            if is_on != is_automatic(props):
                setattr(props, self.name, 0 if is_on else first_value)

        return BoolProperty(
            name="Auto", description=self.tip, get=is_automatic, set=tick, options=set()
        )

    def _percentage(self) -> Any:
        def percent(props: bpy.types.PropertyGroup) -> float:
            return 100.0 * float(getattr(props, self.name))

        def set_percent(props: bpy.types.PropertyGroup, value: float) -> None:
            # Blender leaves the limits of such a property to it.
            setattr(props, self.name, 0.01 * min(max(value, 0.0), 100.0))

        return FloatProperty(
            name=self.label,
            description=self.tip,
            get=percent,
            set=set_percent,
            min=0.0,
            max=100.0,
            precision=0,
            subtype="PERCENTAGE",
            options=set(),
        )


def _flags(row: Setting) -> set[str]:
    """A path may begin at the .blend file."""
    is_path = row.kind.keywords.get("subtype") in ("FILE_PATH", "DIR_PATH")
    return {"PATH_SUPPORTS_BLEND_RELATIVE"} if is_path else set()


def properties(table: Sequence[Setting], more: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The annotations of a class, by the names of the settings.

    Args:
        more: keywords of some properties that need the rest of the add-on, by their names.
    """
    made = {row.name: row.property(**more.get(row.name, {})) for row in table}
    for row in table:
        made |= row.views()
    return made


def names_in(panel: str, table: Iterable[Setting], props: bpy.types.PropertyGroup) -> list[str]:
    """The names of the settings that a panel draws now."""
    shown = (row for row in table if row.panel == panel)
    return [row.name for row in shown if row.shown is None or row.shown(props)]


def captured(table: Iterable[Setting], props: bpy.types.PropertyGroup) -> dict[str, Any]:
    """Arguments of the core's body that settings give as they are, numbers as typed."""
    values = ((row.captured, getattr(props, row.name)) for row in table if row.captured)
    return {name: exact_float(v) if isinstance(v, float) else v for name, v in values}


def friction(name: str, panel: str, paint: float | None = None) -> Setting:
    """Friction of bodies, colliders and the ground alike."""
    return Setting(
        name,
        "Friction",
        number(0.5, low=0.0, soft=(None, 2.0), precision=2),
        "Friction of the surface: ice 0, wood 0.5, rubber 1. Two surfaces in contact use the "
        "geometric mean of their friction: 0.4 for 0.2 and 0.8",
        panel=panel,
        paint=paint,
    )


def kinetic_friction(name: str, panel: str) -> Setting:
    """Friction while sliding, as a factor of the friction at rest."""
    return Setting(
        name,
        "Kinetic Friction",
        factor(1.0),
        "Friction while sliding, in percent of the friction at rest. Below 100 %, a crate is "
        "harder to set going than to keep going",
        panel=panel,
        is_percent=True,
    )


def restitution(name: str, panel: str, surface: str, shown: Shown | None = None) -> Setting:
    """Restitution of explicit steps: the share of its speed that a vertex keeps."""
    return Setting(
        name,
        "Bounce",
        factor(0.0),
        f"Part of its speed that a vertex keeps when it hits the {surface}. 0 does not bounce, 1 "
        "loses nothing",
        panel=panel,
        shown=shown,
    )


def penalty(name: str, panel: str, verb: str, shown: Shown | None = None) -> Setting:
    """The penalty of explicit steps on vertices that ``verb``, such as ``fell below``."""
    return Setting(
        name,
        "Penalty",
        number(0.0, low=0.0, soft=(None, 1000.0), precision=1, step=100),
        f"Strength of the push on vertices that {verb}, in proportion to their speed, like a "
        "springy mat. 0 only puts them back",
        panel=panel,
        shown=shown,
        unit="1/s",
    )


def guide_table(table: Iterable[Setting]) -> str:
    """The table of ``docs/settings.md``: a line for each setting that artists see."""
    lines = ["| Setting | Default | Keyed | Painted | |", "|---|---|---|---|---|"]
    for row in table:
        if row.label and row.tip:
            default = row.kind.keywords.get("default", "")
            items = {each[0]: each[1] for each in row.kind.keywords.get("items", ())}
            is_tick = isinstance(default, bool)
            shown = ("on" if default else "off") if is_tick else items.get(default, default)
            shown = f"{shown:g}" if isinstance(shown, float) else shown
            marks = ("yes" if mark else "" for mark in (row.is_keyed, row.paint is not None))
            lines.append(f"| {row.label} | {shown} | {' | '.join(marks)} | {row.tooltip()}. |")
    return "\n".join(lines)
