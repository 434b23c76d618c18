# SPDX-License-Identifier: GPL-3.0-or-later
"""Define a sample scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy


@dataclass(frozen=True)
class Sample:
    """A scene and the frames worth seeing.

    Args:
        build: fills an empty scene, whose range is set.
        frames: the last one, and so their number.
        moments: frames of its contact sheet, in reading order.
        columns: pictures a row.
        find: the tool that the demo lets the solver find something with first; empty for none. Of
            the only soft body.
        sag_free_body: name of the body whose shape at rest *Keep This Shape* finds; empty for none.
    """

    build: Callable[[bpy.types.Scene], None]
    frames: int
    moments: tuple[int, ...]
    columns: int = 4
    find: str = ""
    sag_free_body: str = ""
