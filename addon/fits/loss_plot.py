# SPDX-License-Identifier: GPL-3.0-or-later
"""The plot of a loss in the sidebar: a picture that Blender draws as an icon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

SIZE = 256
_MARGIN, _LINE, _DOT = 14, 2, 5
_BACKGROUND, _GRID, _CURVE = (0.10, 0.10, 0.10), (0.28, 0.28, 0.28), (0.25, 0.65, 1.0)
# So many powers of ten are shown at most.
_MOST_DECADES = 8.0

_previews: Any = None
_drawn: tuple[float, ...] = ()


def draw(layout: bpy.types.UILayout, losses: Sequence[float]) -> None:
    """Draws the losses of a search, from the first to the last, on a logarithmic scale."""
    if len(losses) > 1:
        layout.template_icon(icon_value=_icon(tuple(losses)), scale=6.0)


def pixels(losses: Sequence[float]) -> NDArray[np.float32]:
    """(SIZE, SIZE, 4) red, green, blue, opacity; the lowest row first.

    Lines of the grid are powers of ten.
    """
    values = np.asarray(losses, dtype=np.float64)
    top = np.log10(max(values.max(), 1e-300))
    heights = np.log10(np.maximum(values, 10.0 ** (top - _MOST_DECADES)))
    low, high = np.floor(heights.min() - 1e-9), np.ceil(heights.max() + 1e-9)
    inner = SIZE - 2 * _MARGIN - 1

    def row(height: Any) -> Any:
        return _MARGIN + inner * (height - low) / (high - low)

    picture = np.ones((SIZE, SIZE, 4), dtype=np.float32)
    picture[..., :3] = _BACKGROUND
    for decade in np.arange(low, high + 0.5):
        picture[round(row(decade)), _MARGIN:-_MARGIN, :3] = _GRID
    columns = _MARGIN + inner * np.arange(len(values)) / max(1, len(values) - 1)
    across = np.arange(_MARGIN, SIZE - _MARGIN)
    along = np.interp(across, columns, row(heights))
    before, after = np.roll(along, 1), np.roll(along, -1)
    before[0], after[-1] = along[0], along[-1]
    for column, *near in zip(across, before, along, after, strict=True):
        first, last = round(min(near)) - _LINE // 2, round(max(near)) + _LINE // 2
        picture[first : last + 1, column, :3] = _CURVE
    for column, height in zip(columns, row(heights), strict=True):
        middle = round(height), round(column)
        rows, places = (slice(m - _DOT // 2, m + _DOT // 2 + 1) for m in middle)
        picture[rows, places, :3] = _CURVE
    return picture


def unregister() -> None:
    global _previews, _drawn
    if _previews is not None:
        bpy.utils.previews.remove(_previews)
    _previews, _drawn = None, ()


def _icon(losses: tuple[float, ...]) -> int:
    global _previews, _drawn
    if _previews is None:
        import bpy.utils.previews

        _previews = bpy.utils.previews.new()
        _previews.new("loss").image_size = (SIZE, SIZE)
    preview = _previews["loss"]
    if losses != _drawn:
        preview.image_pixels_float = pixels(losses).ravel()
        _drawn = losses
    return int(preview.icon_id)
