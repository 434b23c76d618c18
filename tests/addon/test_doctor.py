# SPDX-License-Identifier: GPL-3.0-or-later
"""What the doctor finds, of real Pythons."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from supple.addon import doctor, solver_environment, solver_packages
from supple.addon.solver_environment import Environment

pytestmark = pytest.mark.usefixtures("scene", "solver")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Lets packages fail to be imported by the solver's Python, as where they are missing."""

    def without(*names: str) -> None:
        for name in names:
            (tmp_path / f"{name}.py").write_text(f"raise ImportError('No module named {name}')\n")
        environment = Environment(Path(sys.executable), tmp_path, "a test's")
        monkeypatch.setattr(solver_environment, "find", lambda: environment)

    return without


def problems(findings: list[doctor.Finding]) -> list[str]:
    return [finding.what for finding in findings if finding.cure]


def test_every_package_of_the_requirements_is_looked_for():
    assert {package.name for package in solver_packages.PACKAGES} == set(
        solver_packages.required_names()
    )


def test_a_whole_solver_is_well_and_its_versions_are_told():
    findings = doctor.examine()
    told = {finding.what: finding.value for finding in findings}
    assert problems(findings) == []
    assert all(told[package.label][0].isdigit() for package in solver_packages.PACKAGES)
    assert doctor.in_words(findings).splitlines()[-1] == "All is well."


@pytest.mark.parametrize("name", ["ipctk", "numba", "scipy", "torch"])
def test_a_missing_package_is_a_problem_with_what_is_lost_and_the_cure(broken, name):
    broken(name)
    findings = doctor.examine()
    # Others cannot be imported without SciPy.
    found = next(finding for finding in findings if finding.cure)
    (package,) = (package for package in solver_packages.PACKAGES if package.name == name)
    assert found.what == package.label
    assert package.loss in found.value and f"No module named {name}" in found.value
    assert "Install Solver" in found.cure
    assert doctor.in_words(findings).endswith("problem(s) found.")


def test_missing_optional_packages_are_told_and_no_problem(broken):
    broken("cvxopt", "pytetwild")
    findings = doctor.examine()
    assert problems(findings) == []
    said = doctor.in_words(findings)
    assert "no fTetWild tetrahedra" in said
    assert said.splitlines()[-1].endswith("2 optional package(s) are missing.")


def test_what_is_not_made_for_a_machine_is_no_problem_there(broken, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    broken("ipctk")
    findings = doctor.examine()
    assert problems(findings) == []
    (found,) = (finding for finding in findings if finding.what == "ipctk")
    assert found.value.startswith("not made for this machine: soft bodies cannot touch")
