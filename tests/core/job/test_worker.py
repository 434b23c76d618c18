# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker: its simulations and messages, damaged folders, full disks, and resumed runs."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import Ground, Release, Scene, Simulator, Skin, SoftBody, SurfaceMesh
from supple.core.errors import JobError
from supple.core.integrators import NAMES, implicit_stepper
from supple.core.job import Job, Settings, settings, worker
from supple.core.job import folder as job_folder
from supple.core.job.worker import work
from supple.core.materials import StableNeoHookean
from supple.core.scene.contact_settings import Collider, Contact
from supple.core.version import version
from supple.tests.core import apart
from supple.verification.meshes import block

from .. import disks
from ..box_job import COMMAND, box, box_job, copied, run
from ..job_runs import check_same_bytes_in_parts, simulated

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


def _frames(job: Job) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (job.folder / "frames").iterdir()}


def _bytes(job: Job) -> dict[str, bytes]:
    """The bytes of all files but the lock, which names the last process."""
    files = (path for path in job.folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(job.folder)): path.read_bytes() for path in files}


def test_a_finished_job_with_a_damaged_checkpoint_says_so_and_needs_no_other(
    whole: Job, tmp_path: Path
) -> None:
    job = copied(whole, tmp_path)
    (job.folder / "checkpoint_0.npz").write_bytes(b"PK not really")
    before = _bytes(job)
    done = run(job.folder)
    assert done.returncode == 0
    assert (
        "checkpoint_0.npz is damaged (its checksum does not match): further frames" in done.stdout
    )
    assert _bytes(job) == before


def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one(whole: Job, tmp_path: Path) -> None:
    """As a power failure leaves it: the newest file was not written out."""
    job = copied(whole, tmp_path)
    job.truncate_after(100)
    job.frame_path(100).unlink()
    (job.folder / "checkpoint_0.npz").write_bytes(b"")
    done = run(job.folder)
    assert done.returncode == 0, done.stderr
    assert "checkpoint_0.npz is damaged (its checksum does not match): resuming from frame 99" in (
        done.stdout
    )
    assert "frame 1 of 100" not in done.stdout
    assert _frames(job) == _frames(whole)
    assert [r["frame"] for r in job.records()] == list(range(101))


def test_damaged_and_missing_frames_are_simulated_again(whole: Job, tmp_path: Path) -> None:
    job = copied(whole, tmp_path)
    job.frame_path(1).unlink()
    content = bytearray(job.frame_path(3).read_bytes())
    content[1000] ^= 4
    job.frame_path(3).write_bytes(content)
    # What a write that was killed leaves goes; what somebody else put there stays.
    left = [job.folder / "log.jsonl.4711.part", job.folder / "frames" / "000003.npy.4711.part"]
    own = job.folder / "frames" / "notes.part"
    for path in (*left, own):
        path.write_bytes(b"half")
    done = run(job.folder)
    assert done.returncode == 0, done.stderr
    assert own.exists() and not any(path.exists() for path in left)
    own.unlink()
    assert "000001.npy is missing: simulating again up to frame 1" in done.stdout
    assert "000003.npy is damaged (its checksum does not match): simulating" in done.stdout
    assert "of 100, " not in done.stdout  # the frames that were good
    assert _frames(job) == _frames(whole)
    assert [r["frame"] for r in job.records()] == list(range(101))


def test_frames_that_come_out_otherwise_here_are_not_mixed(whole: Job, tmp_path: Path) -> None:
    """As on another computer: one frame has other bits, and another one is damaged."""
    job = copied(whole, tmp_path)
    job.write_frame(2, job.read_frame(2) + 1e-12)
    job.frame_path(3).unlink()
    done = run(job.folder)
    assert done.returncode == 0, done.stderr
    assert (
        "frame 2 differs from the earlier run: simulating it and all later frames again"
        in done.stdout
    )
    assert _frames(job) == _frames(whole)
    assert [r["frame"] for r in job.records()] == list(range(101))


def test_damaged_tetrahedra_are_made_again_and_the_frames_stay(whole: Job, tmp_path: Path) -> None:
    job = copied(whole, tmp_path)
    (job.folder / "solids.npz").write_bytes(b"PK not really")
    written = job.frame_path(7).stat().st_mtime_ns
    done = run(job.folder)
    assert done.returncode == 0, done.stderr
    assert "solids.npz is damaged (its checksum does not match): filling again" in done.stdout
    assert _bytes(job) == _bytes(whole)
    assert job.frame_path(7).stat().st_mtime_ns == written


def test_a_damaged_log_is_named_and_costs_no_frame(whole: Job, tmp_path: Path) -> None:
    job = copied(whole, tmp_path)
    lines = job.log_path.read_bytes().split(b"\n")
    lines[3], lines[7] = b"{}", b"\xff\xfe"
    job.log_path.write_bytes(b"\n".join(lines))
    done = run(job.folder)
    assert done.returncode == 0
    assert "log.jsonl is damaged: the records of 2 frames from frame 3 on are lost" in done.stdout
    assert [r["frame"] for r in job.records()] == [n for n in range(101) if n not in (3, 7)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disks.small(tmp_path / "disk") as folder:
        yield folder


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_full_disk_is_named_and_the_job_resumes_once_there_is_room(
    small_disk: Path, whole: Job
) -> None:
    job = box_job(small_disk, 100)
    done = run(small_disk)
    assert done.returncode == 1
    assert "The disk is full" in done.stderr
    assert not list(small_disk.rglob("*.part"))
    reached = job.last_frame()
    assert 0 < reached < 100
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert run(small_disk).returncode == 0
    assert job.frame_path(100).read_bytes() == whole.frame_path(100).read_bytes()
    assert [record["frame"] for record in job.records()] == list(range(101))


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_finished_job_on_a_full_disk_is_fine(small_disk: Path) -> None:
    box_job(small_disk, 2)
    work(small_disk)
    disks.fill(small_disk)
    done = run(small_disk)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_full_disk_for_compiled_loops_is_named(small_disk: Path, tmp_path: Path) -> None:
    box_job(tmp_path / "job", 2)
    disks.fill(small_disk)
    done = subprocess.run(
        [*COMMAND, str(tmp_path / "job")],
        env=os.environ | {"NUMBA_CACHE_DIR": str(small_disk)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: The disk is full: {small_disk}")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs mount or permissions")
def test_a_finished_job_is_read_where_nothing_can_be_written_and_another_is_refused(
    tmp_path: Path,
) -> None:
    box_job(tmp_path, 2)
    work(tmp_path)
    with disks.read_only(tmp_path, tmp_path / "frames"):
        done = run(tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "all frames up to 2 are there" in done.stdout
    box_job(tmp_path, 3)
    with disks.read_only(tmp_path, tmp_path / "frames"):
        done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'lock'} cannot be written: ")
    assert done.stderr.endswith("Choose another cache folder, then simulate again.\n")
    assert done.stderr.count("\n") == 1


def test_a_job_killed_at_random_and_resumed_has_the_same_bytes(whole: Job, tmp_path: Path) -> None:
    job = box_job(tmp_path, 100)
    last = random.Random().randrange(1, 95)
    for target in (last // 2, last):
        apart.killed_at(job, target)
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    for index in range(101):
        assert job.frame_path(index).read_bytes() == whole.frame_path(index).read_bytes(), index
    assert [r["frame"] for r in job.records()] == list(range(101))
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    "integrator", ["implicit_euler", "bdf2", "symplectic_euler", "adaptive_runge_kutta4"]
)
def test_a_longer_run_goes_on_from_a_shorter_one_with_the_same_bytes(
    tmp_path: Path, integrator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at_once = box_job(tmp_path / "at once", 6, integrator)
    in_parts = box_job(tmp_path / "in parts", 3, integrator)
    for job in (at_once, in_parts):
        work(job.folder)
    box_job(in_parts.folder, 6, integrator)
    capsys.readouterr()
    work(in_parts.folder)
    assert NAMES[integrator] in capsys.readouterr().out
    assert at_once.frame_path(6).read_bytes() == in_parts.frame_path(6).read_bytes()


def test_a_run_goes_on_with_the_names_that_its_bodies_have_by_then(tmp_path: Path) -> None:
    surface = box()
    body = SoftBody(
        surface,
        StableNeoHookean(3e4, 0.4),
        skin=Skin(surface.vertices, pinned=[0]),
        release=Release(frame=4),
        name="Cube",
    )
    Job.create(tmp_path, Scene([body]), Settings(3, device="cpu"))
    work(tmp_path)
    renamed = replace(body, name="Hero")
    job = Job.create(tmp_path, Scene([renamed]), Settings(6, device="cpu"))
    work(tmp_path)
    told = [name for record in job.records() for name in record["let_go"]]
    assert told == ["the pins of Hero"]


def test_a_finished_job_run_again_changes_nothing(whole: Job) -> None:
    before = {path: path.stat().st_mtime_ns for path in (whole.folder / "frames").iterdir()}
    assert run(whole.folder).returncode == 0
    after = {path: path.stat().st_mtime_ns for path in (whole.folder / "frames").iterdir()}
    assert after == before


def _worked_by_another_version(folder: Path, mesh_only: bool = False) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (job_folder, settings, worker):
            patch.setattr(module, "version", lambda: "0.0.9")
        work(folder, mesh_only)


def test_frames_of_another_version_are_kept_and_not_gone_on_from(tmp_path: Path) -> None:
    job = box_job(tmp_path, 2)
    _worked_by_another_version(tmp_path)
    assert job.version == "0.0.9"
    finished = run(tmp_path)
    assert finished.returncode == 0
    assert "all frames up to 2 are there, simulated by Supple 0.0.9" in finished.stdout
    box_job(tmp_path, 4)
    done = run(tmp_path)
    assert done.returncode == 1
    assert f"were simulated by Supple 0.0.9; this is {version()}, whose" in done.stderr
    assert job.last_frame() == 2


def test_tetrahedra_of_another_version_are_made_again(tmp_path: Path) -> None:
    box_job(tmp_path, 2)
    _worked_by_another_version(tmp_path, mesh_only=True)
    assert Job(tmp_path).version == "0.0.9"
    assert run(tmp_path).returncode == 0
    assert Job(tmp_path).version == version()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"results": ("speed",)}, "results"),
        ({"integrator": "bdf2", "substeps": 2}, "integrator, substeps"),
    ],
)
def test_frames_with_other_settings_are_not_gone_on_from(
    whole: Job, tmp_path: Path, changes: dict, names: str
) -> None:
    job = copied(whole, tmp_path)
    Job.create(job.folder, whole.scene, replace(whole.settings, **changes))
    done = run(job.folder)
    assert done.returncode == 1
    assert f"holds frames simulated with other settings ({names}); simulate into" in done.stderr
    assert job.last_frame() == 100


def test_frames_of_another_scene_are_not_gone_on_from(whole: Job, tmp_path: Path) -> None:
    job = copied(whole, tmp_path)
    Job.create(job.folder, replace(whole.scene, gravity=(0.0, 0.0, -1.0)), whole.settings)
    done = run(job.folder)
    assert done.returncode == 1
    assert "holds frames of another scene; simulate into another folder" in done.stderr
    assert job.last_frame() == 100


def _worker_resuming_touching(folder: Path) -> Job:
    """A box that falls on a plate that rises."""
    surface = box()
    plate = np.array([[-1.0, -1, 0.45], [2, -1, 0.45], [2, 2, 0.45], [-1, 2, 0.45]])
    rising = plate + np.linspace(0.0, 0.05, 6)[:, None, None] * np.array([0.0, 0.0, 1.0])
    scene = Scene(
        [SoftBody(surface, StableNeoHookean(3e4, 0.4), velocity=(0.5, 0.0, -1.0), name="Jelly")],
        colliders=[Collider(rising, [[0, 1, 2], [0, 2, 3]])],
        contact=Contact(distance=0.02),
    )
    return Job.create(folder, scene, Settings(12, device="cpu"))


def test_a_job_with_contact_killed_and_resumed_has_the_same_bytes(tmp_path: Path) -> None:
    whole, job = (
        _worker_resuming_touching(tmp_path / "whole"),
        _worker_resuming_touching(tmp_path / "killed"),
    )
    done = run(whole.folder)
    assert done.returncode == 0, done.stderr
    apart.killed_at(job, 4)
    assert run(job.folder).returncode == 0
    for index in range(13):
        assert job.frame_path(index).read_bytes() == whole.frame_path(index).read_bytes(), index
    records = whole.records()
    assert records[-1]["contacts"] > 0
    assert 0.0 < records[-1]["minimum_distance"] < 0.02
    assert [r["contacts"] for r in job.records()] == [r["contacts"] for r in records]


def test_what_contact_searched_before_leaves_no_trace_in_any_later_frame(tmp_path: Path) -> None:
    job = _worker_resuming_touching(tmp_path)
    work(job.folder, mesh_only=True)
    whole = Simulator(job.tet_scene)
    for index in range(12):
        saved = {name: values.copy() for name, values in whole.state.to_arrays().items()}
        resumed = Simulator(job.tet_scene)
        resumed.state = resumed.state.restored(index, saved)
        for simulator in (whole, resumed):
            next(simulator.run(1))
        assert torch.equal(resumed.state.positions, whole.state.positions), index


def settled_job(folder: Path, frames: int) -> Job:
    mesh = block((2, 2, 2), (1.0, 1.0, 1.0))
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), name="Block", starts_settled=True)
    return Job.create(folder, Scene([body], ground=Ground()), Settings(frames, device="cpu"))


def test_the_first_frame_is_settled_and_the_log_says_so(tmp_path: Path, capsys) -> None:
    job = simulated(settled_job(tmp_path, 2))
    said = capsys.readouterr().out.splitlines()
    assert said.index("settling 1 bodies") < said.index("Block settled before the first frame")
    first, last = (job.read_frame(index) for index in (0, 2))
    assert 0.9 < first[:, 2].max() < 0.97
    assert np.abs(last - first).max() < 2e-3


def test_a_settled_run_in_parts_has_the_same_bytes(tmp_path: Path) -> None:
    check_same_bytes_in_parts(settled_job, tmp_path)


def test_a_damaged_first_frame_comes_out_settled_again(tmp_path: Path) -> None:
    job = simulated(settled_job(tmp_path, 2))
    before = [job.frame_path(index).read_bytes() for index in range(3)]
    job.frame_path(0).write_bytes(before[0][:-8] + bytes(8))
    simulated(job)
    assert [job.frame_path(index).read_bytes() for index in range(3)] == before
