# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from supple.tests.core.meshing.conftest import cube, sphere

__all__ = ["cube", "sphere"]
