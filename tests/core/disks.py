# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks that are full, and folders that nothing can be written into."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small(folder: Path) -> Iterator[Path]:
    """A real file system of 256 KiB."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        yield folder
    finally:
        # Processes that compiled beside a worker may take a moment longer than it to end.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    with contextlib.suppress(OSError):
        (folder / "much").write_bytes(bytes(1 << 20))


@contextlib.contextmanager
def read_only(folder: Path, *inner: Path) -> Iterator[None]:
    """Lets nothing be written into a folder and those in it."""
    if os.geteuid() != 0:
        for path in (*inner, folder):
            path.chmod(0o555)
        try:
            yield
        finally:
            for path in (folder, *inner):
                path.chmod(0o755)
        return
    # To root all folders are open: it needs a file system that is read only.
    mounts = (["--bind", str(folder), str(folder)], ["-o", "remount,bind,ro", str(folder)])
    if any(subprocess.run(["mount", *words], check=False).returncode for words in mounts):
        pytest.skip("root needs the right to mount, to have a folder that is read only")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
