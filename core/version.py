# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Supple this is."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path


@functools.cache
def version() -> str:
    """Return the version in the extension's manifest, its only source."""
    manifest = Path(__file__).resolve().parent.parent / "blender_manifest.toml"
    return tomllib.loads(manifest.read_text(encoding="utf-8"))["version"]
