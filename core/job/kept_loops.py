# SPDX-License-Identifier: GPL-3.0-or-later
"""How many of the core's compiled loops are on the disk, whichever processes have compiled them, or
came with the extension."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from functools import cache
from pathlib import Path

from .. import shipped_loops

# As modules are loaded from it, by which numba tells installations apart.
ROOT = Path(__file__).absolute().parents[1]
# Of what is inlined nothing is kept but what it is part of.
_LOOP = re.compile(rb"^@compiled\((?![^)]*\binline=).*?^def (\w+)", re.MULTILINE | re.DOTALL)


def share() -> float:
    """0 … 1, of all there are in the sources, whether they are loaded or not, so that it never gets
    less; 0 where none is kept."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    files = Path(folder).glob("*/*.nbi") if folder else ()
    kept = {(path.parent.name, path.name) for path in files}
    shipped = shipped_loops.FOLDER / shipped_loops.name()
    indices = _index_files()
    there = [index in kept or (shipped / path).exists() for index, path in indices.items()]
    return sum(there) / len(there)


@cache
def _index_files() -> dict[tuple[str, str], Path]:
    """Folders and names of the files in which numba lists what it has kept of each loop, and where
    they are among those that come with the extension."""
    python = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    found = {}
    for path in ROOT.rglob("*.py"):
        place = hashlib.sha1(str(path.parent).encode(), usedforsecurity=False).hexdigest()
        source = path.read_bytes()
        for loop in _LOOP.finditer(source):
            line = source.count(b"\n", 0, loop.start()) + 1
            name = f"{path.stem}.{loop[1].decode()}-{line}.{python}.nbi"
            shipped = path.relative_to(ROOT).with_name(name)
            found[f"{path.parent.name}_{place}", name] = shipped
    return found
