# SPDX-License-Identifier: GPL-3.0-or-later
"""The requirements that are made for a machine."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from supple.addon.worker import solver_packages

MACHINES = [
    ("x86_64", "#1 SMP", "linux"),
    ("aarch64", "#1 SMP", "linux"),
    ("AMD64", "10.0.22631", "win32"),
    ("ARM64", "10.0.22631", "win32"),
    ("arm64", "Darwin Kernel Version 23.6.0", "darwin"),
    ("arm64", "Darwin Kernel Version 24.1.0", "darwin"),
    ("x86_64", "Darwin Kernel Version 23.6.0", "darwin"),
]


@pytest.mark.parametrize(("machine", "version", "system"), MACHINES)
def test_what_is_made_for_a_machine_is_what_pip_installs(
    monkeypatch: pytest.MonkeyPatch, machine: str, version: str, system: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "version", lambda: version)
    monkeypatch.setattr(sys, "platform", system)
    names = {
        "platform_machine": machine,
        "platform_version": version,
        "sys_platform": system,
    }
    lines = solver_packages.REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    found = {package.name: package.is_made for package in solver_packages.packages()}
    assert found == {
        each.name: each.marker is None or each.marker.evaluate(names) for each in wanted
    }


@pytest.mark.parametrize("marker", ["open('ran', 'w')", "platform_machine", '"a" < "b"'])
def test_a_marker_that_is_no_comparison_is_refused_and_never_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, marker: str
) -> None:
    path = tmp_path / "solver.txt"
    path.write_text(f"numpy>=1.26 ; {marker}\n", encoding="utf-8")
    monkeypatch.setattr(solver_packages, "REQUIREMENTS", path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is not understood"):
        solver_packages.packages()
    assert list(tmp_path.iterdir()) == [path]
