# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the installation of this folder by pip, in an environment with its requirements alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from numba.core.caching import _CacheLocator
from packaging.requirements import Requirement

import supple

ROOT = Path(__file__).resolve().parents[2]
# The folder of compiled loops in an environment.
KEPT = "kept"

# Lets the environment import some of what is installed here, instead of downloading it again.
FINDER = """
import sys
from importlib.machinery import PathFinder

class Lent:
    def find_spec(name, path=None, target=None):
        place = LENT.get(name) if path is None else None
        return place and PathFinder.find_spec(name, [place])

sys.meta_path.append(Lent)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, in which nothing lies that an earlier version left."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in ("addon", "core", "requirements"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [*ROOT.glob("*.py"), *ROOT.glob("*.toml"), ROOT / "README.md", ROOT / "LICENSE"]:
        shutil.copy(path, source)
    pip("wheel", "--no-build-isolation", "--wheel-dir", folder, source)
    (built,) = folder.glob("*.whl")
    return built


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        [*command, "--quiet", "--no-index", "--no-deps"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package folder of a new environment: the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=os.name != "nt")
    pip("--python", python_of(folder), "install", wheel)
    (metadata,) = folder.rglob("supple-*.dist-info")
    site = metadata.parent
    (site / "lent.pth").write_text("import lent\n", encoding="utf-8")
    lend_compiled_loops(site / "supple", folder / KEPT)
    return site


def python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def lend(site: Path) -> None:
    """Lend the environment the packages in its metadata."""
    (metadata,) = site.glob("supple-*.dist-info")
    lent = {
        name: str(package.locate_file(""))
        for package in required(Distribution.at(metadata))
        for name in names_to_import(package)
    }
    (site / "lent.py").write_text(f"LENT = {lent}\n{FINDER}", encoding="utf-8")


def lend_compiled_loops(package: Path, there: Path) -> None:
    """Lets numba take the loops it keeps of this folder, where it does, for those of its copy."""
    cache = os.environ.get("NUMBA_CACHE_DIR")
    if cache is None:
        return
    subpath = _CacheLocator.get_suitable_cache_subpath
    # As it is imported: numba tells links from what they lead to.
    root = Path(str(supple.__file__)).parent
    for copy in package.glob("core/**/*.py"):
        here = Path(cache, subpath(str(root / copy.relative_to(package))))
        for loop in here.glob(f"{copy.stem}.*.nb?"):
            (there / subpath(str(copy))).mkdir(parents=True, exist_ok=True)
            shutil.copy(loop, there / subpath(str(copy)))


def required(package: Distribution) -> list[Distribution]:
    """The requirements of a package without extras, and their requirements."""
    found: dict[str, Distribution] = {}
    unread = [package]
    while unread:
        for requirement in map(Requirement, unread.pop().requires or []):
            asked = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if not asked or requirement.name in found:
                continue
            found[requirement.name] = distribution(requirement.name)
            unread.append(found[requirement.name])
    return list(found.values())


def names_to_import(package: Distribution) -> set[str]:
    return {
        path.parts[0].partition(".")[0] for path in package.files or [] if path.suffix != ".pth"
    }


def run(site: Path, script: str) -> str:
    """The output of a script in that environment."""
    lend(site)
    (environment,) = (folder for folder in site.parents if (folder / "pyvenv.cfg").exists())
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if "NUMBA_CACHE_DIR" in clean:
        clean["NUMBA_CACHE_DIR"] = str(environment / KEPT)
    command = [python_of(environment), "-c", script]
    done = subprocess.run(command, cwd=environment, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readmes_script_runs_as_it_stands(site: Path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(run(site, script).splitlines()) == 48


def test_all_of_core_can_be_imported_and_its_loops_are_compiled(site: Path):
    script = """
import importlib, pkgutil
import supple.core
for module in pkgutil.walk_packages(supple.core.__path__, "supple.core."):
    if not module.name.endswith("__main__") and module.name != "supple.core.launch":
        importlib.import_module(module.name)
print(supple.core.__file__)
"""
    assert Path(run(site, script).strip()).is_relative_to(site)


def test_what_blender_installs_is_what_the_package_asks_for(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    asked = {each.name: each for each in map(Requirement, metadata.get_all("Requires-Dist"))}
    text = (ROOT / "requirements" / "solver.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for pinned in map(Requirement, lines):
        ours = asked[pinned.name]
        assert all(
            ours.specifier.contains(each.version)
            for each in pinned.specifier
            if each.operator != "<"
        )
        assert "extra" in str(ours.marker) or ours.marker == pinned.marker
