# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker: what it simulates and says, and, in a process of its own, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supple.core import Scene, Skin, SoftBody, SurfaceMesh
from supple.core.errors import JobError
from supple.core.integrators import implicit_stepper
from supple.core.job import Job, Settings
from supple.core.scene.contact_settings import Contact
from supple.tests.core import apart

from ..box_job import COMMAND, box, box_job, run

RECORD = {
    "frame", "time", "seconds", "substeps", "kinetic_energy", "elastic_energy",
    "potential_energy", "ground_energy", "minimum_j", "minimum_ground_distance",
    "integrator", "iterations", "linear_iterations", "factorizations", "converged",
    "residual_speed", "termination_reason", "contacts", "minimum_distance", "limited_steps",
    "blocked", "steps", "too_fast", "lost_energy", "linearizations", "truncated_vertices", "lag",
    "most_work", "unfolding", "caught", "inverted_tets", "because", "crossing", "let_go",
}  # fmt: skip


def test_a_finished_job_has_every_frame_and_one_record_of_each(whole: Job) -> None:
    assert whole.last_frame() == 100
    records = whole.records()
    assert [record["frame"] for record in records] == list(range(101))
    assert all(set(record) == RECORD for record in records)
    numbers = [v for record in records for v in record.values() if isinstance(v, float)]
    assert np.isfinite(numbers).all()
    assert min(record["minimum_ground_distance"] for record in records) > 0.0


def test_the_skin_falls_and_comes_to_lie_on_the_ground(whole: Job) -> None:
    ((start,),) = whole.seen_positions(0)
    ((end,),) = whole.seen_positions(100)
    np.testing.assert_allclose(start, box().vertices, atol=1e-9)
    assert end[:, 2].min() == pytest.approx(0.0, abs=0.02)


def test_the_mesh_report_is_kept(whole: Job) -> None:
    (report,) = whole.mesh_reports()
    assert report["name"] == "Jelly"
    assert report["volume"] == pytest.approx(1.0, rel=0.1)
    assert report["tets"] == len(whole.tet_scene.bodies[0].mesh.tets)


def test_the_worker_says_how_it_steps_and_how_far_it_is(tmp_path: Path) -> None:
    box_job(tmp_path / "implicit", 2, "implicit_euler")
    lines = run(tmp_path / "implicit").stdout.splitlines()
    said = [line for line in lines if not line.startswith("preparing ")]
    assert said[0].startswith("Jelly: ")
    assert said[1] == "Implicit Euler, 1 step a frame"
    for index, line in enumerate(said[2:], 1):
        assert re.fullmatch(rf"frame {index} of 2, \d+\.\d{{3}} s", line), line
    assert len(said) == 4
    box_job(tmp_path / "explicit", 1, "symplectic_euler")
    done = run(tmp_path / "explicit")
    steps = re.search(r"^Symplectic Euler, (\d+) steps a frame$", done.stdout, re.MULTILINE)
    assert steps is not None and int(steps[1]) > 1


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
from supple.core.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_numba_a_worker_refuses_in_a_line_with_the_cure(tmp_path: Path) -> None:
    box_job(tmp_path, 1)
    command = [sys.executable, "-c", WITHOUT_NUMBA, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: The solver needs the package numba, which ")
    assert "Install Solver" in done.stderr


def test_a_waiting_worker_whose_job_folder_is_not_there_says_so_in_a_line(tmp_path: Path) -> None:
    with (tmp_path / "output.txt").open("wb") as output:
        worker = apart.program(["--standby"], output.fileno())
    assert worker.stdin is not None
    worker.stdin.write((json.dumps({"job": str(tmp_path / "gone")}) + "\n").encode())
    worker.stdin.flush()
    assert worker.wait(timeout=60) == 1
    said = (tmp_path / "output.txt").read_text().splitlines()
    (error,) = (line for line in said if not line.startswith("prepar"))
    assert error.startswith(f"error: {tmp_path / 'gone' / 'output.txt'} cannot be written: ")


def test_the_worker_tells_of_each_frame_that_did_not_converge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = box_job(tmp_path, 12, "implicit_euler")
    monkeypatch.setattr(implicit_stepper, "MAX_ITERATIONS", 1)
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    missed = [record["frame"] for record in job.records() if not record["converged"]]
    told = [line for line in done.stdout.splitlines() if "did not reach the tolerance" in line]
    assert [line.split()[:2] for line in told] == [["frame", str(frame)] for frame in missed]
    assert missed


def test_tetrahedra_are_made_without_torch(tmp_path: Path) -> None:
    """Torch would take longer to load than the tetrahedra to make."""
    box_job(tmp_path, 2)
    script = (
        "import sys; sys.modules['torch'] = None; from pathlib import Path; "
        "from supple.core.job.worker import work; work(Path(sys.argv[1]), mesh_only=True)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, capture_output=True)
    assert Job(tmp_path).has_tet_scene()


def test_mesh_only_stops_before_the_first_frame(tmp_path: Path) -> None:
    job = box_job(tmp_path, 10)
    done = run(tmp_path, "--mesh-only")
    assert done.returncode == 0
    assert "Jelly: " in done.stdout
    assert job.has_tet_scene()
    assert job.last_frame() == -1


def test_two_workers_do_not_simulate_in_one_folder(tmp_path: Path) -> None:
    job = box_job(tmp_path, 100000)
    first = apart.started(apart.work_quietly, tmp_path)
    while not job.has_frame(2):
        assert first.is_alive()
        time.sleep(0.01)
    second = run(tmp_path)
    first.kill()
    first.join()
    assert second.returncode == 1
    assert second.stderr.startswith(f"error: {tmp_path} is in use: process {first.pid} simulates")
    assert second.stderr.count("\n") == 1
    frames = [record["frame"] for record in job.records()]
    assert frames == list(range(len(frames)))
    box_job(tmp_path, 3)
    assert run(tmp_path).returncode == 0  # what is killed holds no lock


def test_a_folder_that_is_no_job_is_refused_in_one_line(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "scene.json is missing" in done.stderr


def test_a_body_that_cannot_be_simulated_is_named(tmp_path: Path) -> None:
    surface = box()
    inside = np.random.default_rng(0).uniform([0.0, 0.0, 0.5], [1.0, 1.0, 1.5], (5000, 3))
    body = SoftBody(surface, skin=Skin(inside, pinned=np.arange(5000)), name="Jelly")
    Job.create(tmp_path, Scene([body]), Settings(3))
    done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Jelly: every vertex is pinned")


def test_the_worker_ends_when_its_parent_closes_the_pipe(tmp_path: Path) -> None:
    job = box_job(tmp_path, 100000)
    with (tmp_path / "output.txt").open("wb") as output:
        worker = apart.program([str(tmp_path), "--stop-with-parent"], output.fileno())
    while not job.has_frame(2):
        assert worker.poll() is None
        time.sleep(0.01)
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(timeout=5) != 0


STOPPED = "stopped. The frames so far are kept, and the same command resumes."


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C goes to a whole console there")
def test_ctrl_c_ends_it_with_one_line_while_the_solver_loads(tmp_path: Path) -> None:
    box_job(tmp_path, 100000)
    worker = subprocess.Popen(
        [*COMMAND, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "lock").exists():
        assert worker.poll() is None
        time.sleep(0.001)
    worker.send_signal(signal.SIGINT)
    assert worker.communicate(timeout=60)[1] == f"{STOPPED}\n"
    assert worker.returncode == 130


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C goes to a whole console there")
def test_ctrl_c_ends_it_with_one_line_and_the_frames_so_far(tmp_path: Path) -> None:
    job = box_job(tmp_path, 100000)
    with (tmp_path / "output.txt").open("wb") as output:
        worker = apart.program([str(tmp_path)], output.fileno())
    while not job.has_frame(2):
        assert worker.poll() is None
        time.sleep(0.001)
    os.kill(worker.pid, signal.SIGINT)
    assert worker.wait(timeout=60) == 130
    *said, last = (tmp_path / "output.txt").read_text().splitlines()
    assert last == STOPPED
    assert "Traceback" not in "".join(said)
    reached = job.last_frame()
    assert job.damaged_frames(reached) == {}
    box_job(tmp_path, max(reached, 1))
    assert run(tmp_path).returncode == 0


def test_output_that_nobody_reads_costs_no_frame(tmp_path: Path) -> None:
    job = box_job(tmp_path, 3)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, str(tmp_path)], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert job.last_frame() == 3


def test_bodies_that_intersect_are_told_with_where_and_the_next_attempt_forgets(tmp_path) -> None:
    surface = box()
    bodies = [
        SoftBody(SurfaceMesh(surface.vertices + shift, surface.triangles, edge_length=0.34), name=n)
        for n, shift in (("Jelly", np.zeros(3)), ("Cake", np.array([0.1, 0.1, 0.5])))
    ]
    settings = Settings(1, device="cpu", integrator="implicit_euler")
    scene = Scene(bodies, contact=Contact())
    job = Job.create(tmp_path / "job", scene, settings)
    done = run(job.folder, "--mesh-only")
    assert done.returncode == 1
    assert done.stderr.startswith("error: Jelly intersects Cake at the start")
    assert not job.has_tet_scene()
    report = job.intersections()
    assert [each.name for each in report.offenders] == ["Jelly", "Cake"]
    assert all(len(each.faces) == len(each.points) > 0 for each in report.offenders)
    assert report.offsets is not None and report.offsets["Cake"][2] > 0.4
    Job.create(job.folder, replace(scene, contact=None), settings)
    assert run(job.folder, "--mesh-only").returncode == 0
    assert job.intersections() is None
    (job.folder / "intersections.json").write_text('{"offenders": 3}')
    with pytest.raises(JobError, match="damaged"):
        job.intersections()


def _touching(body: SoftBody) -> np.ndarray:
    """The (V, 3) points in contact at the start."""
    surface, start = body.contact_surface, body.initial_positions
    assert surface is not None and surface.embedding is not None and start is not None
    return surface.embedding.interpolate(start)


def test_surfaces_that_touch_begin_apart(tmp_path) -> None:
    surface = box()
    bodies = [
        SoftBody(
            SurfaceMesh(np.add(surface.vertices, (0, 0, k)), surface.triangles, edge_length=0.34),
            name=str(k),
        )
        for k in range(2)
    ]
    job = Job.create(tmp_path / "job", Scene(bodies, contact=Contact()), Settings(1, device="cpu"))
    assert run(job.folder, "--mesh-only").returncode == 0
    lower, upper = (_touching(body) for body in job.tet_scene.bodies)
    assert lower[:, 2].max() < upper[:, 2].min()
    assert lower[:, 2].max() > upper[:, 2].min() - 0.05
    assert job.intersections() is None
