# SPDX-License-Identifier: GPL-3.0-or-later
"""The doctor's report in an artist's words."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.operators import solver as operator
from supple.addon.reports import doctor
from supple.addon.reports.doctor import Finding

WELL = [
    Finding("Solver Python", "/usr/bin/python (Blender's)"),
    Finding("PyTorch", "2.13.0"),
    Finding("Threads", "8"),
    Finding("Graphics card", "none that PyTorch can use; the CPU computes"),
    Finding("Cache folder", "/home/ada/cache, writable"),
    Finding("Unused caches", "2, 1.2 GB; Remove Unused Caches deletes them"),
]
OPTIONAL = Finding(
    "pytetwild", "optional, No module named 'pytetwild': no fTetWild tetrahedra", is_lacking=True
)
MISSING = Finding("SciPy", "No module named 'scipy': nothing runs", "Choose Install Solver", True)
OTHER = Finding("PyTorch", "2.12.0, but Supple is made for 2.13.0", "Install it afresh")


def texts(*findings: Finding) -> list[str]:
    return [text for _, text in doctor.lines(list(findings))]


def test_what_works_is_said_first_and_paths_of_packages_are_left_out():
    assert texts(*WELL) == [
        "Supple is ready to simulate.",
        "Computes on the processor, 8 threads at a time.",
        "Simulated frames are kept in /home/ada/cache.",
        "Folders of frames that this file does not play: 2, 1.2 GB.",
    ]


def test_what_is_optional_is_no_problem_and_says_what_is_lost():
    first, second, *_ = texts(*WELL, OPTIONAL)
    assert first == "Supple is ready to simulate."
    assert second == "Optional, not installed: pytetwild. Without it: no fTetWild tetrahedra."


@pytest.mark.parametrize(
    ("finding", "headline"),
    [
        (MISSING, "Supple cannot simulate yet."),
        (Finding("Solver Python", "none", "Install it"), "Supple cannot simulate yet."),
        (OTHER, "Supple may work, but one check failed."),
    ],
)
def test_a_problem_comes_with_its_cure(finding, headline):
    found = texts(*WELL, finding)
    assert found[:3] == [headline, f"{finding.what}: {finding.value}.", finding.cure]


def test_copy_report_copies_all_of_it(scene, monkeypatch):
    monkeypatch.setattr(operator, "_latest", [*WELL, OTHER])
    assert bpy.ops.supple.doctor_report() == {"FINISHED"}
    copied = bpy.context.window_manager.clipboard
    assert not copied or ("/usr/bin/python" in copied and "1 problem(s) found." in copied)


def test_the_window_waits_for_what_is_asked_in_the_background(scene, monkeypatch):
    class Slow:
        done = False

        def is_done(self) -> bool:
            return self.done

        def findings(self) -> list[Finding]:
            return WELL

    slow = Slow()
    monkeypatch.setattr(operator, "_current", slow)
    monkeypatch.setattr(operator, "_latest", [])
    assert not bpy.ops.supple.doctor.poll()
    assert operator._look() == operator._TICK_SECONDS
    slow.done = True
    assert operator._look() is None
    assert operator._latest == WELL
    assert bpy.ops.supple.doctor.poll()
