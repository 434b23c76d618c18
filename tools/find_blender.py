"""Find a real Blender, or prepare one.

`prepare()` answers with the one named in SUPPLE_BLENDER, the one on PATH, or on a Debian-like
machine, as root, one from Debian's unstable suite in a chroot in the user's cache.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import debian
from .real_blender import NAMESPACE, Blender, BlenderError

OLDEST, NEWEST = (4, 5), (5, 2)
SUITE = "sid"
DEBIAN_EXECUTABLE = "/usr/bin/blender"
PACKAGES = (
    # Blender, a virtual screen for it, and what takes pictures of that screen
    *("blender", "xvfb", "imagemagick", "libgl1-mesa-dri", "libegl1", "libegl-mesa0"),
    # what Blender's own extension system imports
    *("python3-requests", "python3-cattr"),
    # pip, which installs the solver and comes with other builds of Blender
    "python3-pip-whl",
    # what the solver's worker imports
    *("python3-torch", "python3-numpy", "python3-numba", "python3-scipy"),
)


def prepare() -> Blender:
    """A Blender of a supported version, made ready first where that is possible.

    Raises:
        BlenderError: there is none; the message says what to do.
    """
    return _on_machine() or _supported(_debian_blender())


def prepared() -> Blender | None:
    """The Blender that ``prepare()`` would return without installing one, if there is one.

    Raises:
        BlenderError: SUPPLE_BLENDER names none that is supported.
    """
    blender = _on_machine()
    root = _debian_root()
    if blender is None and _is_ready(root):
        return Blender(DEBIAN_EXECUTABLE, root)
    return blender


def _on_machine() -> Blender | None:
    named = os.environ.get("SUPPLE_BLENDER")
    if named:
        return _supported(_named(named))
    on_path = shutil.which("blender")
    if on_path and supported(version := Blender(on_path).version()):
        print(f"Blender {_words(version)} on PATH: {on_path}")
        return Blender(on_path)
    return None


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
    root = _debian_root()
    blender = Blender(DEBIAN_EXECUTABLE, root)
    _demand_debian_root()
    root.parent.mkdir(parents=True, exist_ok=True)
    with _lock(root.with_suffix(".lock")):
        if not _is_ready(root):
            _bootstrap(root)
            _install(blender)
            _stamp(root).write_text(" ".join(PACKAGES))
    return blender


def _debian_root() -> Path:
    return cache_folder() / f"blender-{SUITE}"


def _is_ready(root: Path) -> bool:
    return _stamp(root).exists() and _stamp(root).read_text() == " ".join(PACKAGES)


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
