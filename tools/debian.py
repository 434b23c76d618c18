"""Debian packages for the tools here: permissions, names and sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_APT = Path("/etc/apt")


class DebianError(RuntimeError):
    """Something of the system is missing and could not be installed; the message says what."""


def is_debian_root() -> bool:
    return sys.platform.startswith("linux") and bool(shutil.which("apt-get")) and os.getuid() == 0


def install(packages: Sequence[str], purpose: str) -> None:
    """Install system packages as root on Debian.

    Raises:
        DebianError: not root, not Debian, or apt failed.
    """
    words = " ".join(packages)
    if not is_debian_root():
        raise DebianError(
            f"{purpose} needs system packages that are not here. On Debian or Ubuntu: "
            f"sudo apt-get install {words}"
        )
    print(f"{purpose} needs system packages, installing: {words}", flush=True)
    call(["apt-get", "-qq", "update"])
    call(["apt-get", "-qq", "install", "--no-install-recommends", "-y", *packages])


def call(argv: Sequence[str]) -> None:
    """Run a program quietly.

    Raises:
        DebianError: it failed; the message ends what it said.
    """
    done = subprocess.run(
        argv,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-30:])
        raise DebianError(f"{tail}\nThis failed: {' '.join(argv[-6:])}")


def mirror() -> str:
    """The address this machine already takes Debian from.

    Raises:
        DebianError: the apt sources name none.
    """
    for address, suites in _sources():
        ordinary = "security" not in " ".join([address, *suites])
        if ordinary and re.match(r"https?://.*/debian/?$", address):
            return address
    raise DebianError(
        f"The apt sources in {_APT} name no Debian mirror to take a Blender from. "
        "Name a Blender: SUPPLE_BLENDER=/path/to/blender."
    )


def _sources() -> Iterator[tuple[str, list[str]]]:
    """Yield the address and the suites of every source, in both of apt's file formats."""
    folder = _APT / "sources.list.d"
    for path in sorted(folder.glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text()):
            fields = dict(re.findall(r"^(\w+):[ \t]*(.*)$", stanza, re.MULTILINE))
            if "deb" in fields.get("Types", "").split():
                for address in fields.get("URIs", "").split():
                    yield address, fields.get("Suites", "").split()
    for path in [_APT / "sources.list", *sorted(folder.glob("*.list"))]:
        text = path.read_text() if path.exists() else ""
        for entry in re.finditer(r"^deb\s+(?:\[.*?\]\s+)?(\S+)\s+(\S+)", text, re.MULTILINE):
            yield entry[1], [entry[2]]
