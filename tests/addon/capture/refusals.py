# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that capture refuses."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture


def refusal() -> str:
    """The message with which the open scene is refused."""
    with pytest.raises(CaptureError) as caught:
        capture(bpy.context)
    return str(caught.value)
