"""One Blender, one screen and one installation of the built zip for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from supple.tests.blender.harness import InstalledBlender, beside, install
from supple.tools import compiled_loops, extension_zip, find_blender, real_blender


@pytest.fixture(scope="session")
def blender() -> real_blender.Blender:
    return find_blender.prepare()


@pytest.fixture(scope="session")
def archive(blender: real_blender.Blender) -> Path:
    """The zip with the loops for this Blender, so that no scenario waits for them."""
    loops = compiled_loops.compile_for(blender)
    return extension_zip.build(real_blender.REPOSITORY, beside("zip"), loops)


@pytest.fixture(scope="session")
def installed(blender: real_blender.Blender, archive: Path) -> Iterator[InstalledBlender]:
    with blender.screen() as display:
        yield install(blender, archive, display)
