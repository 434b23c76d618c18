# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the solver's packages for Blender's Python, into a folder that is Supple's own.

pip fills a temporary folder, which takes the real name only when it is complete.
"""

from __future__ import annotations

import importlib
import platform
import queue
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

import bpy

from ...core.errors import SuppleError
from .. import preferences
from ..paths import absolute, link_or_copy
from . import solver_environment, solver_packages, warm_worker
from .solver_packages import REQUIREMENTS

_LAST_LINES = 3
# A requirement that pip has looked for in vain.
_NOT_THERE = re.compile(r"No matching distribution found for ([^\s;]+)")
# The words of dev.py wheels for systems and processors.
_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
_PROCESSORS = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def download_size() -> str:
    """The size of the download, such as ``about 242 MB: PyTorch 132 MB, numba 45 MB``, for the
    dialog before it."""
    lacking = missing()
    needed = [each for each in solver_packages.packages() if each.is_made]
    packages = [each for each in needed if not lacking or each.pinned in lacking]
    labels = {each.name: each.description.label for each in packages}
    sizes = solver_packages.downloads(labels)
    if not sizes:
        return ", ".join(labels.values())
    parts = ", ".join(f"{labels[name]} {_megabytes(size)}" for name, size in sizes.items())
    return f"about {_megabytes(sum(sizes.values()))}: {parts}"


def _megabytes(size: float) -> str:
    return f"{size:.0f} MB" if size < 1000.0 else f"{size / 1000.0:.1f} GB"


def packages_folder() -> Path | None:
    """The folder of packages that the user chose to install from; None to download them."""
    path = getattr(preferences.find(), "solver_wheels", "")
    return absolute(path) if path else None


def why_offline() -> str:
    """Why nothing can be downloaded, and the cure; empty where it can, or need not be."""
    if bpy.app.online_access or packages_folder() is not None:
        return ""
    return (
        "Online access is off. Turn on Preferences > System > Network > Allow Online Access, "
        "then install again."
    )


def missing() -> list[str]:
    """Packages to add to an installation; empty where everything has to be installed again."""
    folder = solver_environment.solver_folder()
    if folder is None or not solver_environment.holds_torch(folder):
        return []
    return solver_packages.missing(folder)


def install(report: Callable[[str], object], packages: Path | None = None) -> None:
    """Installs and waits, handing each line that pip prints to ``report``; from a folder of
    packages where one is given.

    Raises:
        SuppleError: when it cannot; an earlier installation is then untouched.
    """
    installation = Installation(packages)
    try:
        while installation.running():
            for line in installation.lines(wait=0.2):
                report(line)
        for line in installation.lines():
            report(line)
        installation.finish()
    except BaseException:
        installation.cancel()
        raise


class Installation:
    """pip at work. Ask now and then for its lines; call ``finish`` when it no longer runs."""

    def __init__(self, packages: Path | None = None) -> None:
        """Prepare an installation.

        Args:
            packages: a folder of packages to install from; None is that of the preferences, or the
                network.
        """
        packages = packages or packages_folder()
        if packages is None and (reason := why_offline()):
            raise SuppleError(reason)
        if packages is not None and not packages.is_dir():
            raise SuppleError(f"There is no folder {packages}.")
        if packages is not None and not any(packages.glob("*.whl")):
            raise SuppleError(f"{packages} holds no packages. {_collecting_command()}")
        folder = solver_environment.solver_folder()
        if folder is None:
            raise SuppleError(solver_environment.why_not_found())
        self.folder = folder
        self._packages = packages
        self._part = folder.with_name(f"{folder.name}.part")
        self._tail: list[str] = []
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._missing = missing()
        command = _pip_command(self._part, self._missing, packages)
        try:
            shutil.rmtree(self._part, ignore_errors=True)
            self._part.mkdir(parents=True)
            self._process = _start(command)
        except OSError as error:
            raise _not_installed(folder, error) from error
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def running(self) -> bool:
        return self._process.poll() is None

    def lines(self, wait: float = 0.0) -> list[str]:
        """Lines that pip printed since the last call; waits up to ``wait`` seconds for the
        first."""
        if not self.running():
            # The last output may still be on its way.
            self._reader.join()
        printed: list[str] = []
        try:
            printed.append(self._queue.get(timeout=wait) if wait else self._queue.get_nowait())
            while True:
                printed.append(self._queue.get_nowait())
        except queue.Empty:
            return printed

    def finish(self) -> None:
        """Puts the packages in place once pip has ended.

        Raises:
            SuppleError: when pip failed, or its packages do not fit.
        """
        code = self._process.wait()
        self._reader.join()
        if code != 0:
            self._discard()
            output = " ".join(self._tail[-_LAST_LINES:]) or f"exit status {code}"
            lacking = _NOT_THERE.search(output)
            if self._packages is not None and lacking:
                raise SuppleError(_why_not_from(self._packages, lacking[1]))
            raise SuppleError(f"The solver was not installed: pip reported: {output}")
        if self._missing:
            self._keep_the_rest()
        if not solver_environment.holds_torch(self._part):
            self._discard()
            raise SuppleError(
                f"The solver was not installed: there is no PyTorch for Python "
                f"{sysconfig.get_python_version()} on this machine."
            )
        # On Windows files that a process has loaded cannot be moved.
        warm_worker.stop()
        self._put_in_place()
        importlib.invalidate_caches()

    def cancel(self) -> None:
        """End pip and remove its downloads."""
        if self.running():
            self._process.kill()
            self._process.wait()
        self._discard()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if text := line.strip():
                self._tail = [*self._tail[-_LAST_LINES:], text]
                self._queue.put(text)

    def _keep_the_rest(self) -> None:
        """Keep the installed packages that were not installed again."""
        renewed = {path.name.partition("-")[0] for path in self._part.iterdir()}
        try:
            for path in self.folder.iterdir():
                target = self._part / path.name
                if path.name.partition("-")[0] in renewed:
                    continue
                if path.is_dir():
                    shutil.copytree(path, target, copy_function=link_or_copy)
                else:
                    link_or_copy(path, target)
        except OSError as error:
            self._discard()
            raise _not_installed(self.folder, error) from error

    def _put_in_place(self) -> None:
        old = self.folder.with_name(f"{self.folder.name}.old")
        try:
            shutil.rmtree(old, ignore_errors=True)
            if self.folder.exists():
                self.folder.rename(old)
            self._part.rename(self.folder)
        except OSError as error:
            if old.exists() and not self.folder.exists():
                old.rename(self.folder)
            self._discard()
            raise SuppleError(
                f"The solver in {self.folder} is in use: {error.strerror or error}. Stop the "
                "simulation, then install again."
            ) from error
        shutil.rmtree(old, ignore_errors=True)

    def _discard(self) -> None:
        shutil.rmtree(self._part, ignore_errors=True)


def _not_installed(folder: Path, error: OSError) -> SuppleError:
    return SuppleError(
        f"The solver cannot be installed in {folder.parent}: {error.strerror or error}."
    )


def _why_not_from(packages: Path, requirement: str) -> str:
    """The message about a folder of packages without one that the solver requires."""
    name = re.split("[=<>!~]", requirement, maxsplit=1)[0]
    others = ", ".join(path.name for path in sorted(packages.glob(f"{name}-*.whl")))
    only = f", only {others}" if others else ""
    return f"{packages} has no {requirement} for this machine{only}. {_collecting_command()}"


def _collecting_command() -> str:
    """The command that collects packages for this machine on another one."""
    system, processor = _SYSTEMS.get(sys.platform), _PROCESSORS.get(platform.machine())
    return (
        f"On a machine with a network, collect them with python3 dev.py wheels FOLDER --platform "
        f"{system}-{processor} --python {sysconfig.get_python_version()}."
    )


def _start(command: list[str]) -> subprocess.Popen[str]:
    here = solver_environment.Environment(Path(sys.executable), None, "")
    return subprocess.Popen(
        command,
        env=solver_environment.variables(here) | {"PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        creationflags=solver_environment.NO_CONSOLE,
    )


def _pip_command(target: Path, missing: Sequence[str], packages: Path | None = None) -> list[str]:
    """The pip command for all packages, or for missing ones that must fit the others; from a folder
    or the network."""
    # With --target pip also works beside a Python that its system manages.
    options = ["--no-user", "--no-input", "--progress-bar", "off", "--disable-pip-version-check"]
    if packages is not None:
        options += ["--no-index", "--find-links", str(packages)]
    requirements = [*missing, "--constraint"] if missing else ["-r"]
    start = [sys.executable, "-s", *_pip()]
    return [*start, "install", "--target", str(target), *options, *requirements, str(REQUIREMENTS)]


def _pip() -> list[str]:
    """The command that runs pip, installed or from the wheel that comes with Python."""
    if PathFinder.find_spec("pip", site.getsitepackages()) is not None:
        return ["-m", "pip"]
    places = [Path(sysconfig.get_path("stdlib")) / "ensurepip" / "_bundled"]
    if shared := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        places.append(Path(shared))
    for place in places:
        for wheel in sorted(place.glob("pip-*.whl"), reverse=True):
            return [str(wheel / "pip")]
    raise SuppleError(
        f"{sys.executable} has no pip to install the solver with. Install pip there, or name "
        "another Python that has PyTorch in Supple's preferences."
    )
