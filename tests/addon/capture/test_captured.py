# SPDX-License-Identifier: GPL-3.0-or-later
"""The way back from what was captured to objects that users go on working with."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.capture.captured import RemovedError
from supple.addon.capture.scene import capture


def test_a_body_is_found_by_another_name_and_not_where_it_was_deleted(add_body):
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    captured = capture(bpy.context)
    first.name = "Another"
    assert captured.soft_bodies() == [first, second]
    bpy.data.objects.remove(second)
    assert captured.soft_bodies() == [first, None]
    captured.check_left()


def test_it_is_told_when_no_body_is_left(add_body):
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    captured = capture(bpy.context)
    first.supple.enabled = False
    # What is unlinked from all collections stays in the file, in no scene.
    bpy.context.collection.objects.unlink(second)
    assert second.name in bpy.data.objects
    with pytest.raises(RemovedError, match=r"^First, Second are not soft bodies anymore\.$"):
        captured.check_left()
    first.supple.enabled = True
    captured.check_left()
