# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled loops in the extension's zip, read by processes of an installation elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from supple.core import shipped_loops
from supple.core.errors import SuppleError
from supple.core.job import warm_up
from supple.tests.core.test_compiled import ROUNDED
from supple.tools import extension_zip

ROOT = Path(__file__).resolve().parents[2]
CHOICE = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")

# A loop and those that it calls, in other files; whether it was compiled already.
USE = """
import numpy
from supple.core.kernels.clearance import deviation_ratios
points = numpy.arange(12.0).reshape(4, 3)
ones, out = numpy.ones(4), numpy.zeros(4)
print(deviation_ratios(points, points, points, points, 0.0, 2.0, ones, out) ** 2)
print(*deviation_ratios.stats.cache_hits.values())
"""
SHIP = """
import sys
from pathlib import Path
from supple.core.job import tiny_scenes, warm_up
tiny_scenes.PIECES = ()
warm_up.ship(Path(sys.argv[1]))
"""
NAME = "from supple.core.compiled import shipped_loops; print(shipped_loops.name())"
TARGET = "print(rounded.factors.targetctx.codegen().magic_tuple()[1])"
CHOSEN = "from supple.core.compiled import numba; print(numba.config.CPU_NAME)"

# Of the last point, where its path has led after two seconds: (18, 20, 22)² m².
FAR = 4.0 * (9.0**2 + 10.0**2 + 11.0**2)
COMPILED, TAKEN = f"{FAR}\n\n", f"{FAR}\n1\n"

pytestmark = pytest.mark.skipif(
    shipped_loops._common_processor() is None, reason="a processor that no loops come for"
)


def run(installation: Path, script: str, *arguments: Path, **variables: str) -> str:
    """The output of a script that finds Supple in a folder, and nothing compiled elsewhere."""
    clean = {name: value for name, value in os.environ.items() if name not in CHOICE}
    places = {"PYTHONPATH": str(installation), "NUMBA_CACHE_DIR": str(installation / "kept")}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(
        command,
        env={**clean, **places, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        cwd=installation,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def this_processor() -> dict[str, str]:
    """The variables that let numba compile for this processor alone."""
    binding = pytest.importorskip("llvmlite.binding")
    own = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    return dict(zip(CHOICE, own, strict=True))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip, of sources that lie in a folder in which the loop was compiled."""
    folder = tmp_path_factory.mktemp("made")
    package = folder / "supple"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "core", package / "core", ignore=ignored)
    for name in ("__init__.py", extension_zip.MANIFEST):
        shutil.copy(ROOT / name, package)
    assert run(folder, USE + SHIP, folder / "shipped") == COMPILED
    return extension_zip.build(package, folder, folder / "shipped")


@pytest.fixture
def installation(archive: Path, tmp_path: Path) -> Path:
    """The folder where the zip was unpacked, before anything has run."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "supple")
    return tmp_path


def test_a_loop_that_comes_with_the_extension_is_not_compiled_wherever_that_lies(installation):
    extension = installation / "supple"
    before = {path: path.read_bytes() for path in extension.rglob("*") if path.is_file()}
    assert run(installation, USE) == TAKEN
    after = {path: path.read_bytes() for path in extension.rglob("*") if path.is_file()}
    assert after == before
    assert not list((installation / "kept").rglob("*.nb?"))


def _cut_index(shipped: Path) -> None:
    for index in shipped.rglob("*.nbi"):
        index.write_bytes(index.read_bytes()[:-20])


def _cut_loop(shipped: Path) -> None:
    for loop in shipped.rglob("*.nbc"):
        loop.write_bytes(loop.read_bytes()[:100])


def _lose_loop(shipped: Path) -> None:
    for loop in shipped.rglob("*.nbc"):
        loop.unlink()


def _make_unreadable(shipped: Path) -> None:
    """As where somebody else has installed it; who may read all finds a folder instead."""
    for index in shipped.rglob("*.nbi"):
        index.unlink()
        index.mkdir()


def _change_source(shipped: Path) -> None:
    """Change the source of a function that the loop calls, in another file."""
    source = shipped.parent / "math3" / "vectors.py"
    source.write_text(source.read_text() + "\n# Another.\n")


FALLBACKS = (_cut_index, _cut_loop, _lose_loop, _make_unreadable, _change_source)


@pytest.mark.parametrize("change", FALLBACKS, ids=lambda change: change.__name__)
def test_what_does_not_fit_or_cannot_be_read_is_compiled_and_kept_as_without(
    installation: Path, change: Callable[[Path], None]
) -> None:
    change(installation / "supple" / "core" / "shipped")
    assert run(installation, USE) == COMPILED
    assert run(installation, USE) == TAKEN


def test_loops_for_another_processor_are_not_taken_even_under_its_name(installation: Path) -> None:
    (common,) = (installation / "supple" / "core" / "shipped").iterdir()
    common.rename(common.with_name(run(installation, NAME, **this_processor()).strip()))
    assert run(installation, USE, **this_processor()) == COMPILED


def test_loops_for_most_processors_give_the_bits_of_those_for_this_one(installation: Path) -> None:
    (installation / "rounded.py").write_text(ROUNDED)
    most, this = (
        run(
            installation, f"import supple.core.kernels.deformation, rounded; {TARGET}", **chosen
        ).split()
        for chosen in ({}, this_processor())
    )
    common, _ = shipped_loops._common_processor()
    assert (most[2], this[2]) == (common, this_processor()["NUMBA_CPU_NAME"])
    # Neither was taken from the disk.
    assert most[:2] == [this[0], "0"]


def test_a_processor_that_the_user_has_chosen_stays(installation: Path) -> None:
    assert run(installation, CHOSEN, NUMBA_CPU_NAME="generic") == "generic\n"
    assert run(installation, CHOSEN, NUMBA_CPU_FEATURES="") == "None\n"
    # It was loaded for this one.
    assert run(installation, f"import numba; {CHOSEN}") == "None\n"


@pytest.mark.parametrize("lacking", shipped_loops._X86_64_V3)
def test_a_processor_that_lacks_something_is_compiled_for_itself(lacking: str, monkeypatch) -> None:
    found = dict.fromkeys(shipped_loops._X86_64_V3, True)
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: found)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert shipped_loops._common_processor() == ("x86-64-v3", shipped_loops._X86_64_V3)
    found[lacking] = False
    assert shipped_loops._common_processor() is None


def test_what_would_serve_no_other_machine_is_not_put_with_the_extension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of another machine").mkdir()
    monkeypatch.setattr(shipped_loops, "name", lambda: "")
    with pytest.raises(SuppleError, match="no other machine"):
        warm_up.ship(tmp_path)
    assert (tmp_path / "of another machine").exists()


def test_loops_go_by_what_is_in_the_sources_not_by_where_they_lie(tmp_path: Path) -> None:
    for place in ("one", "other"):
        shutil.copytree(ROOT / "core" / "math3", tmp_path / place / "core" / "math3")
    found = {extension_zip.fingerprint(tmp_path / place) for place in ("one", "other")}
    assert len(found) == 1
    (tmp_path / "other" / "core" / "math3" / "vectors.py").write_text("")
    assert extension_zip.fingerprint(tmp_path / "other") not in found
