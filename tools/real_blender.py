"""Run a real Blender, on this machine or in a chroot, and programs beside it.

A chroot's mounts live in a private mount namespace: nothing stays mounted afterwards, and killing
the started process takes everything it started with it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# A mount and process namespace that ends with the process which asked for it, however that ends.
NAMESPACE = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
)
# $1 is the chroot, $2 the checkout, $3 the current folder, the rest the command. The shell stays,
# as the first process of its namespace: it takes in orphans, which Blender would not.
ENTER = """
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mkdir -p "$1$2"
mount --bind "$2" "$1$2"
chroot "$1" /usr/bin/env --chdir="$3" "${@:4}" || exit $?
exit 0
"""


class BlenderError(RuntimeError):
    """No Blender can be had, or it did not do what it was asked; the message says why."""


@dataclass(frozen=True)
class Blender:
    """One real Blender. Inside a chroot the checkout is visible at its own path, little else is."""

    executable: str
    chroot: Path | None = None

    def command(self, argv: Sequence[str], folder: Path = REPOSITORY) -> list[str]:
        """The command line that runs `argv` where this Blender lives, in `folder`."""
        if self.chroot is None:
            return list(argv)
        return [*_enter(self.chroot, folder), *argv]

    def has(self, program: str) -> bool:
        if self.chroot is None:
            return shutil.which(program) is not None
        return os.path.lexists(self.chroot / "usr/bin" / program)  # it may be a link in there

    def start(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path = REPOSITORY,
        stdout: int | None = None,
        stderr: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start a program beside Blender; `end()` ends it with all that it started."""
        return subprocess.Popen(
            self.command(argv, folder),
            cwd=folder,
            env=_environment(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            errors="replace",
            start_new_session=os.name == "posix",
        )

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path = REPOSITORY,
        timeout: float = 120.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program beside Blender to its end; stdout and stderr come back together.

        Raises:
            BlenderError: it took longer than `timeout` seconds.
        """
        process = self.start(
            argv,
            environment=environment,
            folder=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with ending(process):
            try:
                output, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired as expired:
                end(process)
                output, _ = process.communicate()
                words = " ".join(argv)
                raise BlenderError(f"`{words}` took over {timeout:g} s:\n{output}") from expired
        return subprocess.CompletedProcess(list(argv), process.returncode, output, "")

    def version(self) -> tuple[int, int, int]:
        output = self.run([self.executable, "--version"]).stdout
        match = re.search(r"^Blender (\d+)\.(\d+)\.(\d+)", output, re.MULTILINE)
        if not match:
            raise BlenderError(f"{self.executable} does not say which Blender it is:\n{output}")
        return int(match[1]), int(match[2]), int(match[3])

    @contextlib.contextmanager
    def screen(self, size: str = "1600x1000") -> Iterator[str]:
        """A virtual screen while the block runs: the value for DISPLAY.

        Without Xvfb (Windows, macOS, a desktop) the user's own screen is used.

        Raises:
            BlenderError: there is neither a virtual screen nor a real one.
        """
        if not self.has("Xvfb"):
            if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
                raise BlenderError("No screen: install Xvfb, or set DISPLAY to a running one.")
            yield os.environ.get("DISPLAY", "")
            return
        server = ["Xvfb", "-displayfd", "1", "-noreset", "+extension", "GLX"]
        process = self.start(
            [*server, "-screen", "0", f"{size}x24"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # dozens of lines on the keyboard, on every start
        )
        with ending(process):
            assert process.stdout is not None
            number = process.stdout.readline().strip()
            if not number:
                raise BlenderError("Xvfb did not start.")
            yield f":{number}"


def _enter(chroot: Path, folder: Path) -> list[str]:
    return [*NAMESPACE, "bash", "-c", ENTER, "bash", str(chroot), str(REPOSITORY), str(folder)]


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, with software rendering and without a virtual environment."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**variables, "LIBGL_ALWAYS_SOFTWARE": "1", **extra}


def end(process: subprocess.Popen[str], patience: float = 5.0) -> None:
    """Stop a process started here together with its children, by force if it takes too long."""
    if process.poll() is not None:
        return
    _signal(process, signal.SIGTERM)
    try:
        process.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        process.wait()


def _signal(process: subprocess.Popen[str], number: int) -> None:
    if os.name == "posix":
        os.killpg(process.pid, number)
    else:
        process.terminate()


@contextlib.contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """The process, ended with the block."""
    try:
        yield process
    finally:
        end(process)
