# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools, by name."""

from __future__ import annotations

from . import follow_keys, hit_target, keep_shape, match_shape
from .tool import Tool

TOOLS: dict[str, Tool] = {
    "keep_shape": keep_shape.TOOL,
    "hit_target": hit_target.TOOL,
    "match_shape": match_shape.TOOL,
    "follow_keys": follow_keys.TOOL,
}
