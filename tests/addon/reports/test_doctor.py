# SPDX-License-Identifier: GPL-3.0-or-later
"""The doctor's findings about real Pythons."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from supple.addon.reports import doctor
from supple.addon.worker import solver_environment, solver_packages
from supple.addon.worker.solver_environment import Environment
from supple.addon.worker.solver_packages import Package

pytestmark = pytest.mark.usefixtures("scene", "asked_once")


# Answers in torch's place, which takes a second to load.
TORCH = """
from types import SimpleNamespace
cuda = SimpleNamespace(is_available=lambda: False)
get_num_threads = lambda: 1
"""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python that loads another torch."""
    (tmp_path / "torch.py").write_text(TORCH)
    environment = Environment(Path(sys.executable), tmp_path, "a test's")
    monkeypatch.setattr(solver_environment, "find", lambda: environment)


@pytest.fixture
def broken(quick: None, tmp_path: Path):
    """Lets packages fail to be imported by the solver's Python, as where they are missing."""

    def without(*names: str) -> None:
        for name in names:
            (tmp_path / f"{name}.py").write_text(f"raise ImportError('No module named {name}')\n")

    return without


def problems(findings: list[doctor.Finding]) -> list[str]:
    return [finding.what for finding in findings if finding.cure]


@pytest.fixture
def requirements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Changes what the solver is made for."""

    def change(old: str, new: str) -> None:
        text = solver_packages.REQUIREMENTS.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path = tmp_path / "requirements.txt"
        path.write_text(text.replace(old, new), encoding="utf-8")
        monkeypatch.setattr(solver_packages, "REQUIREMENTS", path)

    return change


@pytest.mark.usefixtures("quick")
def test_a_line_of_the_requirements_is_enough_to_be_looked_for(requirements):
    requirements("numpy", "a_new_package==1.0\nnumpy")
    (found,) = (finding for finding in doctor.examine() if finding.cure)
    assert found.what == "a_new_package"
    assert "No module named 'a_new_package'" in found.value


def test_another_version_is_a_problem_that_names_both(requirements):
    for versions, other in (("==1.3.3", "==1.2"), ("==1.17.1", "==1.17"), ("<3", "<1.26")):
        requirements(versions, other)
    found = {finding.what: finding for finding in doctor.examine() if finding.cure}
    packages = [solver_packages.package(name) for name in ("cvxopt", "scipy", "numpy")]
    assert found.keys() == {package.description.label for package in packages}
    for package in packages:
        finding = found[package.description.label]
        assert finding.value == (
            f"{metadata.version(package.name)}, but Supple is made for "
            f"{package.versions.removeprefix('==')}"
        )
        assert "requirements/solver.txt" in finding.cure


@pytest.mark.parametrize(
    ("versions", "version", "fits"),
    [
        ("==2.13.0", "2.13.0+cu130", True),
        ("==2.13.0", "2.13", True),
        ("==2.13.0", "2.13.1", False),
        (">=1.26,<3", "1.26.4", True),
        (">=1.26,<3", "1.9.4", False),
        (">=1.26,<3", "2.10.0", True),
        (">=1.26,<3", "3.0.0", False),
    ],
)
def test_versions_are_compared_number_by_number(versions, version, fits):
    assert Package("name", versions, is_made=True).fits(version) == fits


def test_a_whole_solver_is_well_and_its_versions_are_reported():
    findings = doctor.examine()
    reported = {finding.what: finding.value for finding in findings}
    assert problems(findings) == []
    for package in solver_packages.packages():
        assert reported[package.description.label] == metadata.version(package.name)
    assert doctor.formatted(findings).splitlines()[-1] == "All is well."


def test_missing_packages_are_problems_with_what_is_lost_and_the_cure(broken):
    names = ("numba", "scipy", "torch")
    broken(*names)
    findings = doctor.examine()
    found = {finding.what: finding for finding in findings if finding.cure}
    for name in names:
        description = solver_packages.package(name).description
        finding = found[description.label]
        assert description.loss in finding.value and f"No module named {name}" in finding.value
        assert "Install Solver" in finding.cure
    assert doctor.formatted(findings).endswith("problem(s) found.")


def test_one_that_another_needs_is_named_first(broken):
    broken("scipy")
    found = next(finding for finding in doctor.examine() if finding.cure)
    assert found.what == solver_packages.package("scipy").description.label


def test_missing_optional_packages_are_reported_and_no_problem(broken):
    broken("cvxopt", "pytetwild")
    findings = doctor.examine()
    assert problems(findings) == []
    text = doctor.formatted(findings)
    assert "no fTetWild tetrahedra" in text
    assert text.splitlines()[-1].endswith("2 optional package(s) are missing.")


def test_what_is_not_made_for_a_machine_is_no_problem_there(broken, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    broken("pytetwild")
    findings = doctor.examine()
    assert problems(findings) == []
    (found,) = (finding for finding in findings if finding.what == "pytetwild")
    assert found.value.startswith("not made for this machine: no fTetWild tetrahedra")
