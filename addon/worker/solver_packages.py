# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages that the solver runs on, with their purposes and the machines that support them."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "solver.txt"

_SPECIFIER = re.compile(r"(==|>=|<)([0-9.]+)")
_COMPARED = r'("[^"]*"|platform_machine|platform_version|sys_platform)'
_COMPARISON = re.compile(rf"\s*{_COMPARED}\s+(==|in|not in)\s+{_COMPARED}\s*")


@dataclass(frozen=True)
class Description:
    """The description of a package in reports.

    Args:
        label: its name as people write it.
        loss: the features that are missing without it.
        is_optional: whether the rest is as good without it.
    """

    label: str
    loss: str
    is_optional: bool = False


_DESCRIPTIONS = {
    "torch": Description("PyTorch", "nothing can be simulated"),
    "numpy": Description("NumPy", "nothing can be simulated"),
    "scipy": Description("SciPy", "nothing can be simulated"),
    "numba": Description("numba", "nothing can be simulated"),
    "cvxopt": Description("CVXOPT", "stiff and fine bodies take longer", is_optional=True),
    "pytetwild": Description("pytetwild", "no fTetWild tetrahedra", is_optional=True),
}


# Megabytes that pip downloads of the versions in REQUIREMENTS, each with the packages that it
# needs, as their index gives them; by system and processor. For Linux PyTorch comes with CUDA.
_DOWNLOADS_MB = {
    ("linux", "x86_64"): (2741.0, 15.7, 63.6, 35.2, 21.3, 3.1),
    ("linux", "aarch64"): (2870.0, 16.0, 61.8, 33.1, 13.9, 0.0),
    ("win32", "AMD64"): (132.3, 12.6, 44.7, 36.6, 13.6, 2.1),
    ("darwin", "arm64"): (121.5, 5.5, 43.3, 20.3, 4.7, 2.4),
}
_MEASURED = ("torch", "numpy", "numba", "scipy", "cvxopt", "pytetwild")


@dataclass(frozen=True)
class Package:
    """One line of the requirements.

    Args:
        name: to import and to install it by.
        versions: those that fit, such as ``==1.6.1`` or ``>=1.26,<3``.
        is_made: whether it is made for this machine.
    """

    name: str
    versions: str
    is_made: bool

    @property
    def pinned(self) -> str:
        """The requirement as pip takes it."""
        return self.name + self.versions

    @property
    def description(self) -> Description:
        return _DESCRIPTIONS.get(self.name, Description(self.name, "the solver needs it"))

    def fits(self, version: str) -> bool:
        """Whether Supple is made for this version."""
        # The platform of a build stands behind a plus.
        numbers = _numbers(version.partition("+")[0])
        for relation, limit in _SPECIFIER.findall(self.versions):
            bound = _numbers(limit)
            holds = {"==": numbers == bound, ">=": numbers >= bound, "<": numbers < bound}
            if not holds[relation]:
                return False
        return True


def packages() -> list[Package]:
    """The required packages."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return [_package(line) for line in lines if line and not line.startswith("#")]


def package(name: str) -> Package:
    """A required package by its name."""
    return next(package for package in packages() if package.name == name)


def missing(folder: Path) -> list[str]:
    """Requirements that a folder of packages lacks, such as ``scipy==1.17.1``."""
    names = (path.stem.partition("-") for path in folder.glob("*.dist-info"))
    there = {name: version for name, _, version in names}
    return [
        package.pinned
        for package in packages()
        if package.is_made and not (package.name in there and package.fits(there[package.name]))
    ]


def downloads(names: Iterable[str]) -> dict[str, float] | None:
    """Return the megabytes to download of packages with their requirements, the largest first; None
    on machines for which they are not known."""
    sizes = _DOWNLOADS_MB.get((sys.platform, platform.machine()))
    if sizes is None:
        return None
    known = dict(zip(_MEASURED, sizes, strict=True))
    chosen = {name: known[name] for name in names if name in known}
    return dict(sorted(chosen.items(), key=lambda each: -each[1]))


def _package(line: str) -> Package:
    pinned, _, marker = line.partition(";")
    name = re.split("[=<>]", pinned, maxsplit=1)[0].strip()
    return Package(name, pinned.strip().removeprefix(name), _applies(marker))


def _numbers(version: str) -> tuple[int, ...]:
    """Without the zeros at its end, which make no difference."""
    text = re.sub(r"(\.0+)+$", "", version)
    return tuple(int(number) for number in re.findall("[0-9]+", text))


def _applies(marker: str) -> bool:
    """Whether a marker holds of this machine: comparisons joined by ``and``, then by ``or``."""
    if not marker.strip():
        return True
    return any(all(map(_holds, part.split(" and "))) for part in marker.split(" or "))


def _holds(comparison: str) -> bool:
    compared = _COMPARISON.fullmatch(comparison)
    if compared is None:
        raise ValueError(f"{REQUIREMENTS} compares {comparison!r}, which is not understood.")
    names = {
        "platform_machine": platform.machine(),
        "platform_version": platform.version(),
        "sys_platform": sys.platform,
    }
    left, relation, right = compared.groups()
    first, second = (names.get(each, each.strip('"')) for each in (left, right))
    if relation == "==":
        return first == second
    return (first in second) == (relation == "in")
