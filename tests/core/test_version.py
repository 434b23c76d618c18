# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import tomllib
from pathlib import Path

import supple
from supple.core.version import version


def test_the_package_and_the_extension_have_the_version_that_caches_keep() -> None:
    root = Path(supple.__file__).parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    manifest = tomllib.loads((root / "blender_manifest.toml").read_text())
    assert project["version"] == manifest["version"] == version()
