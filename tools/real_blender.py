"""Find or prepare a real Blender, and run programs beside it.

`prepare()` answers with a `Blender`: the one named in SUPPLE_BLENDER, the one on PATH, or on a
Debian-like machine, as root, one from Debian's unstable suite in a chroot in the user's cache.
The chroot's mounts live in a private mount namespace: nothing stays mounted afterwards, and
killing the started process takes everything it started with it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import debian

OLDEST, NEWEST = (4, 5), (5, 2)
SUITE = "sid"
PACKAGES = (
    # Blender, a virtual screen for it, and what takes pictures of that screen
    *("blender", "xvfb", "imagemagick", "libgl1-mesa-dri", "libegl1", "libegl-mesa0"),
    # what Blender's own extension system imports
    *("python3-requests", "python3-cattr"),
    # what the solver's worker imports
    *("python3-torch", "python3-numpy", "python3-numba", "python3-scipy"),
)
#: What it imports that Debian does not have.
WHEELS = ("ipctk",)
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
        found = re.search(r"^Blender (\d+)\.(\d+)\.(\d+)", output, re.MULTILINE)
        if not found:
            raise BlenderError(f"{self.executable} does not say which Blender it is:\n{output}")
        return int(found[1]), int(found[2]), int(found[3])

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
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**kept, "LIBGL_ALWAYS_SOFTWARE": "1", **extra}


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


# --- where a Blender comes from ---------------------------------------------------------------


def prepare() -> Blender:
    """A Blender of a supported version, made ready first where that is possible.

    Raises:
        BlenderError: there is none; the message says what to do.
    """
    named = os.environ.get("SUPPLE_BLENDER")
    if named:
        return _supported(_named(named))
    on_path = shutil.which("blender")
    if on_path and supported(version := Blender(on_path).version()):
        print(f"Blender {_words(version)} on PATH: {on_path}")
        return Blender(on_path)
    return _supported(_debian_blender())


def supported(version: tuple[int, int, int]) -> bool:
    return OLDEST <= version[:2] <= NEWEST


def _words(version: Sequence[int]) -> str:
    return ".".join(str(part) for part in version)


def _named(path: str) -> Blender:
    if not shutil.which(path):
        raise BlenderError(f"SUPPLE_BLENDER is {path}, which is not a program that can be run.")
    return Blender(path)


def _supported(blender: Blender) -> Blender:
    version = blender.version()
    where = f" in {blender.chroot}" if blender.chroot else ""
    if not supported(version):
        raise BlenderError(
            f"{blender.executable}{where} is Blender {_words(version)}; "
            f"Supple is tested on {_words(OLDEST)} to {_words(NEWEST)}."
        )
    print(f"Blender {_words(version)}: {blender.executable}{where}", flush=True)
    return blender


def cache_folder() -> Path:
    """Not the add-on's own, which is called supple: people empty that."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "supple-dev"


def _debian_blender() -> Blender:
    root = cache_folder() / f"blender-{SUITE}"
    blender = Blender("/usr/bin/blender", root)
    _demand_debian_root()
    root.parent.mkdir(parents=True, exist_ok=True)
    with _lock(root.with_suffix(".lock")):
        contents = " ".join([*PACKAGES, *_pinned(WHEELS)])
        if _stamp(root).exists() and _stamp(root).read_text() == contents:
            return blender
        _bootstrap(root)
        _install(blender)
        _install_wheels(blender, root)
        _stamp(root).write_text(contents)
    return blender


def _stamp(root: Path) -> Path:
    return root.with_suffix(".ready")


def _demand_debian_root() -> None:
    if not debian.is_debian_root():
        raise BlenderError(
            f"No Blender found. Install Blender {_words(OLDEST)} to {_words(NEWEST)} and name it: "
            "SUPPLE_BLENDER=/path/to/blender. "
            "(On Debian, as root, one is prepared here without asking.)"
        )
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        raise BlenderError(
            "This root user may not mount file systems (a container without that right?), so "
            "no Blender can be prepared. Name one: SUPPLE_BLENDER=/path/to/blender."
        )


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Only one preparation at a time; a second one waits."""
    import fcntl  # not on Windows, where nothing is prepared

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _bootstrap(root: Path) -> None:
    done = root.with_suffix(".bootstrapped")
    if done.exists():
        return
    if not shutil.which("debootstrap"):
        debian.install(["debootstrap"], "Preparing a Blender")
    if root.exists():
        _demand_nothing_mounted(root)
        print("An earlier attempt was interrupted: starting over.", flush=True)
        shutil.rmtree(root)
    print(f"Bootstrapping Debian {SUITE} in {root} (a minute)", flush=True)
    options = ["--variant=minbase", "--include=ca-certificates"]
    # In a namespace too: an interrupted debootstrap leaves /proc mounted.
    debian.call([*NAMESPACE, "debootstrap", *options, SUITE, str(root), debian.mirror()])
    done.touch()


def _demand_nothing_mounted(root: Path) -> None:
    """Whatever is mounted below `root` would be deleted with it."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    below = [mount.split()[1] for mount in mounts if mount.split()[1].startswith(f"{root}/")]
    if below:
        raise BlenderError(f"Unmount these first, then try again: {' '.join(below)}")


def _install(blender: Blender) -> None:
    print("Installing Blender and the solver's packages there (some minutes)", flush=True)
    patience = ["-o", "Acquire::Check-Valid-Until=false", "-o", "Acquire::Retries=3"]
    mend = "dpkg --configure -a || apt-get -qq --fix-broken install -y"  # after an interruption
    debian.call(blender.command(["bash", "-c", mend]))
    debian.call(blender.command(["apt-get", *patience, "-qq", "update"]))
    install = ["apt-get", *patience, "-qq", "install", "--no-install-recommends", "-y", *PACKAGES]
    debian.call(blender.command(install))
    debian.call(blender.command(["apt-get", "clean"]))


def _install_wheels(blender: Blender, root: Path) -> None:
    """With the pip of this checkout, since the chroot has none."""
    asked = blender.run(["python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    version = asked.stdout.strip()
    target = root / "usr/local/lib" / f"python{version}" / "dist-packages"
    kind = ["--only-binary", ":all:", "--python-version", version]
    kind += ["--platform", f"manylinux_2_28_{platform.machine()}"]
    options = ["--quiet", "--no-deps", "--upgrade", "--target", str(target)]
    debian.call([_python(), "-m", "pip", "install", *options, *kind, *_pinned(WHEELS)])


def _python() -> str:
    own = REPOSITORY / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def _pinned(names: Sequence[str]) -> list[str]:
    """The versions that users get, such as ``numba==1.0``."""
    text = (REPOSITORY / "requirements" / "solver.txt").read_text(encoding="utf-8")
    lines = [line.partition(";")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line.partition("==")[0] in names]
