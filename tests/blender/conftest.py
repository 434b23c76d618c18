"""One Blender, one screen and one installation of the built zip for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from supple.tests.blender.harness import SCREENSHOTS, InstalledBlender, fresh_folder, install
from supple.tools import extension_zip, find_blender, real_blender


@pytest.fixture(scope="session")
def blender() -> real_blender.Blender:
    return find_blender.prepare()


@pytest.fixture(scope="session")
def archive() -> Path:
    return extension_zip.build(real_blender.REPOSITORY, real_blender.REPOSITORY / "dist")


@pytest.fixture(scope="session")
def installed(blender: real_blender.Blender, archive: Path) -> Iterator[InstalledBlender]:
    fresh_folder(SCREENSHOTS)
    with blender.screen() as display:
        yield install(blender, archive, display)
