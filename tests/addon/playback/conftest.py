# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine that tells what it is given to render."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest

from .views import ProbeEngine


@pytest.fixture(scope="module")
def engine(addon: None) -> Iterator[None]:
    bpy.utils.register_class(ProbeEngine)
    yield
    bpy.utils.unregister_class(ProbeEngine)
