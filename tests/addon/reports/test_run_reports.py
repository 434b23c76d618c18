# SPDX-License-Identifier: GPL-3.0-or-later
"""The reports of a run on its steps, its tetrahedra and its frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import pytest

from supple.addon import actions
from supple.addon.reports import run_reports
from supple.addon.reports.run_reports import on_timeline
from supple.core.job import Job

START = 10
IMPLICIT = {"integrator": "Implicit Euler", "substeps": 1, "iterations": 4, "converged": True}


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def reported(job: Job, *records: dict[str, Any]) -> tuple[str, str]:
    for index, record in enumerate(records):
        job.append_record({"frame": index, **record})
    report = run_reports.read(job, START)
    return report.steps, report.warning


def test_the_latest_frame_is_reported(job: Job) -> None:
    hard = IMPLICIT | {"substeps": 2, "iterations": 1}
    assert reported(job, IMPLICIT, hard) == ("Implicit Euler, 2 steps per frame, 1 iteration", "")


def test_explicit_steps_have_no_iterations(job: Job) -> None:
    explicit = IMPLICIT | {"integrator": "Symplectic Euler", "substeps": 50, "iterations": 0}
    assert reported(job, explicit) == ("Symplectic Euler, 50 steps per frame", "")


@pytest.mark.parametrize(("count", "frames"), [(1, "1 frame did"), (3, "3 frames did")])
def test_frames_that_did_not_converge_are_counted(job: Job, count: int, frames: str) -> None:
    missed = [IMPLICIT | {"converged": False}] * count
    _, warning = reported(job, IMPLICIT, *missed, IMPLICIT)
    assert warning == f"{frames} not reach the tolerance. Raise Substeps"


def test_contacts_are_counted_and_the_closest_is_reported(job: Job) -> None:
    touching = IMPLICIT | {"contacts": 120, "minimum_distance": 0.000312}
    steps, warning = reported(job, touching)
    assert steps.endswith(", 4 iterations, 120 contacts, closest 0.312 mm")
    assert not warning
    assert reported(job, IMPLICIT | {"contacts": 1})[0].endswith(", 1 contact")


def test_frames_taken_implicitly_are_counted_with_the_reason(job: Job) -> None:
    explicit = IMPLICIT | {"integrator": "Symplectic Euler", "substeps": 50, "iterations": 0}
    records = [explicit | {"because": ""}] * 3
    close = IMPLICIT | {"because": "surfaces are close"}
    assert reported(job, *records)[0] == "Symplectic Euler, 50 steps per frame"
    steps, warning = reported(job, *records, close, close, explicit)
    assert steps.endswith(", 2 of 5 frames implicit because surfaces are close")
    assert not warning


def test_what_steps_took_of_the_motion_is_told_where_it_is_seen(job: Job) -> None:
    still = IMPLICIT | {"kinetic_energy": 0.0, "lost_energy": 0.0}
    assert "lost" not in reported(job, still)[0]
    slight = IMPLICIT | {"kinetic_energy": 2.0, "lost_energy": 0.019}
    assert "lost" not in reported(job, slight)[0]
    slower = IMPLICIT | {"kinetic_energy": 1.5, "lost_energy": 0.041}
    assert reported(job, slower)[0].endswith(", 4 iterations, 3% of the motion lost in time steps")


def test_a_body_that_goes_through_itself_is_named_with_the_cure(job: Job) -> None:
    _, warning = reported(job, IMPLICIT | {"crossing": ["Snake"]})
    assert warning.startswith(
        "Snake intersects itself at the start and does not collide with itself. Raise"
    )


def test_tets_that_are_inside_out_are_counted(job: Job) -> None:
    steps, warning = reported(job, IMPLICIT | {"inverted_tets": 3})
    assert steps.endswith(", 4 iterations, 3 tets inside out")
    assert not warning
    assert reported(job, IMPLICIT | {"inverted_tets": 1})[0].endswith(", 1 tet inside out")
    assert "inside out" not in reported(job, IMPLICIT | {"inverted_tets": 0})[0]


def test_frames_in_which_nothing_touches_tell_no_contacts(job: Job) -> None:
    apart = IMPLICIT | {"contacts": 0, "minimum_distance": 0.2, "limited_steps": 0, "blocked": []}
    assert reported(job, apart)[0].endswith("4 iterations")


def test_what_was_held_is_named_once_with_its_first_frame(job: Job) -> None:
    pins, plate = "the pins of Cube: Plate is in their way", "Plate: Cube is in its way"
    held = [[], [pins], [pins, plate], [plate]]
    _, warning = reported(job, *(IMPLICIT | {"blocked": each} for each in held))
    assert warning == (
        "From frame 11, the pins of Cube could not follow the animation: Plate is in their way. "
        "From frame 12, Plate could not follow the animation: Cube is in its way"
    )


@pytest.mark.parametrize(("lag", "words"), [(0.0124, "12.4 mm"), (2.5, "2.5 m")])
def test_how_far_it_was_behind_is_told(job: Job, lag: float, words: str) -> None:
    held = IMPLICIT | {"blocked": ["Plate: Cube is in its way"]}
    _, warning = reported(job, held | {"lag": 0.001}, held | {"lag": lag}, held)
    assert warning.endswith(f"Cube is in its way, at most {words} behind")


def test_steps_beyond_those_of_each_frame_are_counted(job: Job) -> None:
    words, _ = reported(job, IMPLICIT | {"substeps": 2, "steps": 5})
    assert "2 steps per frame, 5 in the last frame" in words
    assert "last one" not in reported(job, IMPLICIT | {"substeps": 2, "steps": 2})[0]


def test_what_may_have_passed_each_other_is_named_with_the_first_frame(job: Job) -> None:
    names = [[], ["Ball and Wall"], ["Ball and Wall"]]
    _, warning = reported(job, *(IMPLICIT | {"too_fast": each} for each in names))
    assert warning == (
        "From frame 11, Ball and Wall move too fast against each other and may pass through. "
        "Raise Substeps"
    )


def test_both_warnings_are_reported(job: Job) -> None:
    _, warning = reported(
        job, IMPLICIT | {"converged": False, "blocked": ["Plate: Cube is in the way"]}
    )
    assert warning.startswith(
        "1 frame did not reach the tolerance. Raise Substeps. From frame 10, Plate could not"
    )


def test_a_body_that_is_caught_is_named_while_it_is(job: Job) -> None:
    caught = IMPLICIT | {"caught": ["Monkey"], "unfolding": []}
    _, warning = reported(job, IMPLICIT | {"unfolding": ["Monkey"], "caught": []}, caught)
    assert warning.startswith("Monkey is stuck in a folded shape")
    assert reported(job, caught, IMPLICIT | {"caught": []})[1] == ""


def test_it_follows_a_log_that_grows(job: Job) -> None:
    assert reported(job) == ("", "")
    assert reported(job, IMPLICIT)[0].endswith("4 iterations")
    assert reported(job, IMPLICIT | {"iterations": 7})[0].endswith("7 iterations")


def test_a_log_from_before_there_was_a_choice_tells_nothing(job: Job) -> None:
    assert reported(job, {"substeps": 30, "seconds": 0.1}) == ("", "")


def test_a_damaged_log_is_named(job: Job) -> None:
    job.log_path.write_text("{oops}\n")
    assert "log.jsonl is damaged" in reported(job)[1]
    steps, warning = reported(job, IMPLICIT, IMPLICIT | {"converged": False})
    assert steps.startswith("Implicit Euler, 1 step")
    assert "1 frame did not reach" in warning
    assert warning.endswith("log.jsonl is damaged: its end is lost")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.01, "less than 0.1 s"),
        (0.06, "0.1 s"),
        (8.0, "16 s"),
        (125.0, "4 min 10 s"),
        (3750.0, "2 h 5 min"),
    ],
)
def test_frames_are_told_with_what_they_took(job: Job, seconds: float, told: str) -> None:
    for index in range(3):
        job.append_record({"frame": index, "seconds": seconds if index else 0.0} | IMPLICIT)
    frames = run_reports.read(job, START).frames
    assert frames == f"Frames 10 to 12 took {told}"


def test_the_start_alone_is_no_frame(job: Job) -> None:
    job.append_record({"frame": 0, "seconds": 0.1} | IMPLICIT)
    assert run_reports.read(job, START).frames == ""


@pytest.mark.parametrize("resolution", [6, 10])
def test_the_panel_reports_how_stiffly_a_rod_bends_and_what_helps(
    scene: bpy.types.Scene, resolution: int
) -> None:
    bpy.ops.mesh.primitive_cylinder_add(radius=0.04, depth=1.0)
    rod = bpy.context.object
    bpy.ops.supple.add()
    rod.supple.resolution = resolution
    actions.tetrahedralize(bpy.context)
    report = rod.supple.bending_report
    cured = int(report.partition("With Resolution ")[2].split()[0])
    # Edges of two thirds of the thickness.
    assert cured == pytest.approx(1.0 / (0.63 * 0.08), rel=0.15)
    rod.supple.resolution = cured
    actions.tetrahedralize(bpy.context)
    assert rod.supple.bending_report == ""


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (0.5, "2 loose parts. They overlap or lie in each other, and hold together as one piece."),
        (3.0, "2 loose parts. They do not overlap, so that nothing holds them together."),
    ],
)
def test_the_panel_reports_loose_parts(scene: bpy.types.Scene, offset: float, words: str) -> None:
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(offset, 0.2, 0.1))
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.supple.add()
    actions.tetrahedralize(bpy.context)
    assert cube.supple.parts_report == f"{cube.name} has {words}"


@pytest.mark.parametrize(
    ("message", "seen"),
    [
        ("Cube: frame 3 needs steps below 1e-6 s.", "Cube: frame 103 needs steps below 1e-6 s."),
        (
            "At frame 0 moving pins brought them there.",
            "At frame 100 moving pins brought them there.",
        ),
        ("how frames 3, 14, 5 … went is lost", "how frames 103, 114, 105 … went is lost"),
        ("frames/000003.npy is damaged.", "frames/000003.npy is damaged."),
        (
            "It ended after 3 frames; no frame is left.",
            "It ended after 3 frames; no frame is left.",
        ),
    ],
)
def test_frames_of_the_solver_are_reported_as_the_timeline_counts_them(message, seen):
    assert on_timeline(message, 100) == seen
