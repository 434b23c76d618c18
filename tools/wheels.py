"""Collect the solver's packages for machines without a network."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

#: The tags of packages that a platform of Blender takes, by its name.
_GLIBC = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
PLATFORMS = {
    "linux-x64": [f"{glibc}_x86_64" for glibc in _GLIBC],
    "linux-arm64": [f"{glibc}_aarch64" for glibc in _GLIBC],
    "windows-x64": ["win_amd64"],
    "macos-arm64": [f"macosx_{major}_0_arm64" for major in (14, 13, 12, 11)],
}


def parsed(words: Sequence[str], folder: Path) -> argparse.Namespace:
    """Parse the words of `dev.py wheels`; by default the packages go into `folder`."""
    parser = argparse.ArgumentParser(prog="dev.py wheels", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=folder, help="default: %(default)s")
    parser.add_argument(
        "--platform", choices=PLATFORMS, help="of the other machines; default: that of this one"
    )
    parser.add_argument(
        "--python", type=_version, metavar="3.N", help="of their Blender; default: as .venv has"
    )
    options = parser.parse_args(words)
    if options.platform and options.python is None:
        parser.error("--platform needs --python: 3.11 for Blender 4.5 and 5.0, 3.13 for later ones")
    return options


def pip_words(requirements: Path, options: argparse.Namespace) -> list[str]:
    """The words of pip that collects the packages."""
    words = ["download", "-r", str(requirements), "--dest", str(options.folder)]
    words += ["--only-binary", ":all:"]
    for tag in PLATFORMS.get(options.platform, []):
        words += ["--platform", tag]
    if options.python:
        words += ["--python-version", options.python, "--implementation", "cp"]
        for abi in (f"cp{options.python.replace('.', '')}", "abi3", "none"):
            words += ["--abi", abi]
    return words


def _version(text: str) -> str:
    if not re.fullmatch(r"3\.\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 3.13")
    return text
