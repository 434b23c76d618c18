# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages that the solver runs on: what each is for, and which a machine can have."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements" / "solver.txt"


@dataclass(frozen=True)
class Package:
    """What is told of one of them.

    Args:
        name: to import and to install it by.
        label: for messages.
        loss: what is not there without it.
        is_optional: whether the rest is as good without it.
    """

    name: str
    label: str
    loss: str
    is_optional: bool = False


PACKAGES = (
    Package("torch", "PyTorch", "nothing can be simulated"),
    Package("numpy", "NumPy", "nothing can be simulated"),
    Package("scipy", "SciPy", "no implicit steps, no contact"),
    Package("numba", "numba", "the CPU runs slower kernels, contact ones tens of times slower"),
    Package("ipctk", "ipctk", "soft bodies cannot touch each other, themselves or meshes"),
    Package("cvxopt", "CVXOPT", "stiff and fine bodies take longer", is_optional=True),
    Package("pytetwild", "pytetwild", "no fTetWild tetrahedra", is_optional=True),
)


def required_names() -> dict[str, bool]:
    """The packages of the requirements, and whether each is made for this machine."""
    return {_name(pinned): _applies(marker) for pinned, marker in _requirements()}


def missing(folder: Path) -> list[str]:
    """What a folder of packages lacks of the requirements, such as ``ipctk==1.6.1``."""
    names = (path.stem.partition("-") for path in folder.glob("*.dist-info"))
    there = {name: version for name, _, version in names}
    wanted = [pinned for pinned, marker in _requirements() if _applies(marker)]
    return [pinned for pinned in wanted if not _fits(there.get(_name(pinned)), pinned)]


def _requirements() -> Iterator[tuple[str, str]]:
    """Packages as pip takes them, and their markers."""
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pinned, _, marker = line.partition(";")
            yield pinned.strip(), marker


def _name(pinned: str) -> str:
    return pinned.split("==")[0].split(">=")[0]


def _fits(version: str | None, pinned: str) -> bool:
    exact = pinned.partition("==")[2]
    # Behind a plus stands what one was built for.
    return version is not None and (not exact or version.partition("+")[0] == exact)


def _applies(marker: str) -> bool:
    # Markers are written as Python is, over names of the machine.
    names = {
        "platform_machine": platform.machine(),
        "platform_version": platform.version(),
        "sys_platform": sys.platform,
    }
    return not marker.strip() or bool(eval(marker, {"__builtins__": {}}, names))
