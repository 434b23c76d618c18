# SPDX-License-Identifier: GPL-3.0-or-later
"""The real worker: another process, killed for real."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supple.core import Ground, Scene, Skin, SoftBody, SurfaceMesh
from supple.core.contact_settings import Collider, Contact
from supple.core.errors import JobError
from supple.core.integrators.choice import NAMES
from supple.core.job import Job, Settings
from supple.core.materials import StableNeoHookean
from supple.core.version import version

COMMAND = [sys.executable, "-m", "supple.core"]
RECORD = {
    "frame", "time", "seconds", "substeps", "kinetic_energy", "elastic_energy",
    "potential_energy", "ground_energy", "minimum_j", "minimum_ground_distance",
    "integrator", "iterations", "linear_iterations", "factorizations", "converged",
    "residual_speed", "stopped", "contacts", "minimum_distance", "limited_steps", "held",
    "most_work", "unfolding", "caught", "inverted_tets",
}  # fmt: skip


def _box() -> SurfaceMesh:
    corners = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.5, 1.5)])
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])]
    return SurfaceMesh(corners, triangles, edge_length=0.34)


def _job(folder: Path, frames: int, integrator: str = "automatic") -> Job:
    surface = _box()
    body = SoftBody(surface, StableNeoHookean(3e4, 0.4), skin=Skin(surface.vertices), name="Jelly")
    settings = Settings(frames, device="cpu", integrator=integrator)
    return Job.create(folder, Scene([body], ground=Ground()), settings)


def _run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, str(folder), *options], capture_output=True, text=True, check=False
    )


def _copy(job: Job, folder: Path) -> Job:
    return Job(Path(shutil.copytree(job.folder, folder / "copy")))


def _frames(job: Job) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (job.folder / "frames").iterdir()}


def _bytes(job: Job) -> dict[str, bytes]:
    """Of all files but the lock, which names the last process."""
    files = (path for path in job.folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(job.folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job of a hundred frames, simulated without interruption."""
    job = _job(tmp_path_factory.mktemp("whole"), 100)
    done = _run(job.folder)
    assert done.returncode == 0, done.stderr
    return job


def test_a_finished_job_has_every_frame_and_one_record_of_each(whole: Job) -> None:
    assert whole.last_frame() == 100
    records = whole.records()
    assert [record["frame"] for record in records] == list(range(101))
    assert all(set(record) == RECORD for record in records)
    numbers = [v for record in records for v in record.values() if isinstance(v, float)]
    assert np.isfinite(numbers).all()
    assert min(record["minimum_ground_distance"] for record in records) > 0.0


def test_the_skin_falls_and_comes_to_lie_on_the_ground(whole: Job) -> None:
    (start,) = whole.skin_positions(0)
    (end,) = whole.skin_positions(100)
    np.testing.assert_allclose(start, _box().vertices, atol=1e-9)
    assert end[:, 2].min() == pytest.approx(0.0, abs=0.02)


def test_the_mesh_report_is_kept(whole: Job) -> None:
    (report,) = whole.mesh_reports()
    assert report["name"] == "Jelly"
    assert report["volume"] == pytest.approx(1.0, rel=0.1)
    assert report["tets"] == len(whole.solids.bodies[0].mesh.tets)


def test_a_job_killed_at_random_and_resumed_has_the_same_bytes(whole: Job, tmp_path: Path) -> None:
    job = _job(tmp_path, 100)
    last = random.Random().randrange(1, 95)
    for target in (last // 2, last):
        worker = subprocess.Popen([*COMMAND, str(tmp_path)], stdout=subprocess.DEVNULL)
        while not job.has_frame(target):
            assert worker.poll() in (None, 0)
            time.sleep(0.001)
        worker.kill()
        worker.wait()
    done = _run(tmp_path)
    assert done.returncode == 0, done.stderr
    for index in range(101):
        assert job.frame_path(index).read_bytes() == whole.frame_path(index).read_bytes(), index
    assert [r["frame"] for r in job.records()] == list(range(101))
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    "integrator", ["implicit_euler", "bdf2", "symplectic_euler", "adaptive_runge_kutta4"]
)
def test_a_longer_run_goes_on_from_a_shorter_one_with_the_same_bytes(
    tmp_path: Path, integrator: str
) -> None:
    at_once = _job(tmp_path / "at once", 6, integrator)
    in_parts = _job(tmp_path / "in parts", 3, integrator)
    assert [_run(job.folder).returncode for job in (at_once, in_parts)] == [0, 0]
    _job(in_parts.folder, 6, integrator)
    done = _run(in_parts.folder)
    assert NAMES[integrator] in done.stdout
    assert at_once.frame_path(6).read_bytes() == in_parts.frame_path(6).read_bytes()


def test_the_worker_says_how_it_steps(tmp_path: Path) -> None:
    _job(tmp_path, 1, "implicit_euler")
    assert "Implicit Euler, 1 step a frame" in _run(tmp_path).stdout.splitlines()


def test_the_worker_tells_of_each_frame_that_did_not_converge(tmp_path: Path) -> None:
    job = _job(tmp_path, 12, "implicit_euler")
    hurried = (
        "import sys; from pathlib import Path; from supple.core import worker;"
        "from supple.core.integrators import implicit_stepper as stepper;"
        "stepper.MAX_ITERATIONS = stepper.RETRIES = 1; worker.work(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", hurried, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    missed = [record["frame"] for record in job.records() if not record["converged"]]
    told = [line for line in done.stdout.splitlines() if "did not reach the tolerance" in line]
    assert [line.split()[:2] for line in told] == [["frame", str(frame)] for frame in missed]
    assert missed


def test_a_finished_job_run_again_changes_nothing(whole: Job) -> None:
    before = {path: path.stat().st_mtime_ns for path in (whole.folder / "frames").iterdir()}
    assert _run(whole.folder).returncode == 0
    after = {path: path.stat().st_mtime_ns for path in (whole.folder / "frames").iterdir()}
    assert after == before


def test_mesh_only_stops_before_the_first_frame(tmp_path: Path) -> None:
    job = _job(tmp_path, 10)
    done = _run(tmp_path, "--mesh-only")
    assert done.returncode == 0
    assert "Jelly: " in done.stdout
    assert job.has_solids()
    assert job.last_frame() == -1


def test_a_finished_job_with_a_damaged_checkpoint_says_so_and_needs_no_other(
    whole: Job, tmp_path: Path
) -> None:
    job = _copy(whole, tmp_path)
    (job.folder / "checkpoint_0.npz").write_bytes(b"PK not really")
    before = _bytes(job)
    done = _run(job.folder)
    assert done.returncode == 0
    assert "checkpoint_0.npz is damaged (its checksum does not match): more frames" in done.stdout
    assert _bytes(job) == before


def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one(whole: Job, tmp_path: Path) -> None:
    """As a power failure leaves it: the newest file was not written out."""
    job = _copy(whole, tmp_path)
    job.truncate_after(100)
    job.frame_path(100).unlink()
    (job.folder / "checkpoint_0.npz").write_bytes(b"")
    done = _run(job.folder)
    assert done.returncode == 0, done.stderr
    assert "checkpoint_0.npz is damaged (its checksum does not match): going on from frame 99" in (
        done.stdout
    )
    assert "frame 1 of 100" not in done.stdout
    assert _frames(job) == _frames(whole)
    assert [r["frame"] for r in job.records()] == list(range(101))


def test_damaged_and_missing_frames_are_simulated_again(whole: Job, tmp_path: Path) -> None:
    job = _copy(whole, tmp_path)
    job.frame_path(1).unlink()
    content = bytearray(job.frame_path(3).read_bytes())
    content[1000] ^= 4
    job.frame_path(3).write_bytes(content)
    done = _run(job.folder)
    assert done.returncode == 0, done.stderr
    assert "000001.npy is missing: simulating again up to frame 1" in done.stdout
    assert "000003.npy is damaged (its checksum does not match): simulating" in done.stdout
    assert "of 100, " not in done.stdout  # the frames that were good
    assert _frames(job) == _frames(whole)
    assert [r["frame"] for r in job.records()] == list(range(101))


def test_frames_that_come_out_otherwise_here_are_not_mixed(whole: Job, tmp_path: Path) -> None:
    """As on another computer: one frame has other bits, and another one is damaged."""
    job = _copy(whole, tmp_path)
    job.write_frame(2, job.read_frame(2) + 1e-12)
    job.frame_path(3).unlink()
    done = _run(job.folder)
    assert done.returncode == 0, done.stderr
    assert "frame 2 comes out otherwise here: simulating all from there on" in done.stdout
    assert _frames(job) == _frames(whole)
    assert [r["frame"] for r in job.records()] == list(range(101))


def test_damaged_tetrahedra_are_made_again_and_the_frames_stay(whole: Job, tmp_path: Path) -> None:
    job = _copy(whole, tmp_path)
    (job.folder / "solids.npz").write_bytes(b"PK not really")
    written = job.frame_path(7).stat().st_mtime_ns
    done = _run(job.folder)
    assert done.returncode == 0, done.stderr
    assert "solids.npz is damaged (its checksum does not match): filling again" in done.stdout
    assert _bytes(job) == _bytes(whole)
    assert job.frame_path(7).stat().st_mtime_ns == written


def test_a_damaged_log_is_named_and_costs_no_frame(whole: Job, tmp_path: Path) -> None:
    job = _copy(whole, tmp_path)
    lines = job.log_path.read_bytes().split(b"\n")
    lines[3], lines[7] = b"{}", b"\xff\xfe"
    job.log_path.write_bytes(b"\n".join(lines))
    done = _run(job.folder)
    assert done.returncode == 0
    assert "log.jsonl is damaged: the records of 2 frames from frame 3 on are lost" in done.stdout
    assert [r["frame"] for r in job.records()] == [n for n in range(101) if n not in (3, 7)]


def test_two_workers_do_not_simulate_in_one_folder(tmp_path: Path) -> None:
    job = _job(tmp_path, 100000)
    first = subprocess.Popen([*COMMAND, str(tmp_path)], stdout=subprocess.DEVNULL)
    while not job.has_frame(2):
        assert first.poll() is None
        time.sleep(0.01)
    second = _run(tmp_path)
    first.kill()
    first.wait()
    assert second.returncode == 1
    assert second.stderr.startswith(f"error: {tmp_path} is in use: process {first.pid} simulates")
    assert second.stderr.count("\n") == 1
    frames = [record["frame"] for record in job.records()]
    assert frames == list(range(len(frames)))
    _job(tmp_path, 3)
    assert _run(tmp_path).returncode == 0  # what is killed holds no lock


def _of_another_version(folder: Path) -> subprocess.CompletedProcess[str]:
    program = (
        "import sys; import supple.core.version as module; module.version = lambda: '0.0.9';"
        "from supple.core.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_frames_of_another_version_are_kept_and_not_gone_on_from(tmp_path: Path) -> None:
    job = _job(tmp_path, 2)
    assert _of_another_version(tmp_path).returncode == 0
    assert job.version == "0.0.9"
    finished = _run(tmp_path)
    assert finished.returncode == 0
    assert "all frames up to 2 are there, simulated by Supple 0.0.9" in finished.stdout
    _job(tmp_path, 4)
    done = _run(tmp_path)
    assert done.returncode == 1
    assert f"were simulated by Supple 0.0.9; this is {version()}, whose" in done.stderr
    assert job.last_frame() == 2


def test_tetrahedra_of_another_version_are_made_again(tmp_path: Path) -> None:
    _job(tmp_path, 2)
    program = (
        "import sys; from pathlib import Path; import supple.core.version as module;"
        "module.version = lambda: '0.0.9';"
        "from supple.core.worker import work; work(Path(sys.argv[1]), mesh_only=True)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert Job(tmp_path).version == "0.0.9"
    assert _run(tmp_path).returncode == 0
    assert Job(tmp_path).version == version()


def test_frames_of_another_scene_are_not_gone_on_from(whole: Job, tmp_path: Path) -> None:
    job = _copy(whole, tmp_path)
    Job.create(job.folder, replace(whole.scene, gravity=(0.0, 0.0, -1.0)), whole.settings)
    done = _run(job.folder)
    assert done.returncode == 1
    assert "holds frames of another scene; simulate into another folder" in done.stderr
    assert job.last_frame() == 100


def test_a_folder_that_is_no_job_is_refused_in_one_line(tmp_path: Path) -> None:
    done = _run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "scene.json is missing" in done.stderr


def test_a_body_that_cannot_be_simulated_is_named(tmp_path: Path) -> None:
    surface = _box()
    inside = np.random.default_rng(0).uniform([0.0, 0.0, 0.5], [1.0, 1.0, 1.5], (5000, 3))
    body = SoftBody(surface, skin=Skin(inside, pinned=np.arange(5000)), name="Jelly")
    Job.create(tmp_path, Scene([body]), Settings(3))
    done = _run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Jelly: every vertex is pinned")


def test_the_worker_ends_when_its_parent_closes_the_pipe(tmp_path: Path) -> None:
    job = _job(tmp_path, 100000)
    worker = subprocess.Popen(
        [*COMMAND, str(tmp_path), "--stop-with-parent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    while not job.has_frame(2):
        assert worker.poll() is None
        time.sleep(0.01)
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(timeout=5) != 0


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C goes to a whole console there")
@pytest.mark.parametrize("sign", ["lock", "frames/000002.npy"])
def test_ctrl_c_ends_it_with_one_line_and_the_frames_so_far(tmp_path: Path, sign: str) -> None:
    """While the solver loads, and while it works."""
    job = _job(tmp_path, 100000)
    worker = subprocess.Popen(
        [*COMMAND, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / sign).exists():
        assert worker.poll() is None
        time.sleep(0.001)
    worker.send_signal(signal.SIGINT)
    _, error = worker.communicate(timeout=60)
    assert worker.returncode == 130
    assert error == "stopped; the frames so far are kept, and the same command goes on\n"
    reached = job.last_frame()
    assert job.damaged_frames(reached) == {}
    _job(tmp_path, max(reached, 1))
    assert _run(tmp_path).returncode == 0


def test_output_that_nobody_reads_costs_no_frame(tmp_path: Path) -> None:
    job = _job(tmp_path, 3)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, str(tmp_path)], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert job.last_frame() == 3


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_full_disk_is_named_and_the_job_resumes_once_there_is_room(
    small_disk: Path, whole: Job
) -> None:
    job = _job(small_disk, 100)
    done = _run(small_disk)
    assert done.returncode == 1
    assert "The disk is full" in done.stderr
    assert not list(small_disk.rglob("*.part"))
    reached = job.last_frame()
    assert 0 < reached < 100
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert _run(small_disk).returncode == 0
    assert job.frame_path(100).read_bytes() == whole.frame_path(100).read_bytes()
    assert [record["frame"] for record in job.records()] == list(range(101))


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_finished_job_on_a_full_disk_is_fine(small_disk: Path) -> None:
    _job(small_disk, 2)
    assert _run(small_disk).returncode == 0
    with contextlib.suppress(OSError):
        (small_disk / "much").write_bytes(bytes(1 << 20))
    done = _run(small_disk)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_full_disk_for_compiled_loops_is_named(small_disk: Path, tmp_path: Path) -> None:
    _job(tmp_path / "job", 2)
    with contextlib.suppress(OSError):
        (small_disk / "much").write_bytes(bytes(1 << 20))
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


@contextlib.contextmanager
def _read_only(folder: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        for path in (folder / "frames", folder):
            path.chmod(0o555)
        yield
        for path in (folder, folder / "frames"):
            path.chmod(0o755)
        return
    # To root all folders are open: it needs a file system that is read only.
    mounts = (["--bind", str(folder), str(folder)], ["-o", "remount,bind,ro", str(folder)])
    if any(subprocess.run(["mount", *words], check=False).returncode for words in mounts):
        pytest.skip("root needs the right to mount, to have a folder that is read only")
    yield
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.name != "posix", reason="needs mount or permissions")
def test_a_finished_job_is_read_where_nothing_can_be_written_and_another_is_refused(
    tmp_path: Path,
) -> None:
    _job(tmp_path, 2)
    assert _run(tmp_path).returncode == 0
    with _read_only(tmp_path):
        done = _run(tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "all frames up to 2 are there" in done.stdout
    _job(tmp_path, 3)
    with _read_only(tmp_path):
        done = _run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'lock'} cannot be written: ")
    assert done.stderr.endswith("Choose another cache folder, then simulate again.\n")
    assert done.stderr.count("\n") == 1


def test_bodies_that_intersect_are_told_with_where_and_the_next_attempt_forgets(tmp_path) -> None:
    surface = _box()
    bodies = [
        SoftBody(SurfaceMesh(surface.vertices + shift, surface.triangles, edge_length=0.34), name=n)
        for n, shift in (("Jelly", np.zeros(3)), ("Cake", np.array([0.1, 0.1, 0.5])))
    ]
    settings = Settings(1, device="cpu", integrator="implicit_euler")
    scene = Scene(bodies, contact=Contact())
    job = Job.create(tmp_path / "job", scene, settings)
    done = _run(job.folder, "--mesh-only")
    assert done.returncode == 1
    assert done.stderr.startswith("error: Jelly intersects Cake at the start")
    assert not job.has_solids()
    report = job.intersections()
    assert [each.name for each in report.offenders] == ["Jelly", "Cake"]
    assert all(len(each.faces) == len(each.points) > 0 for each in report.offenders)
    assert report.offsets is not None and report.offsets["Cake"][2] > 0.4
    Job.create(job.folder, replace(scene, contact=None), settings)
    assert _run(job.folder, "--mesh-only").returncode == 0
    assert job.intersections() is None
    (job.folder / "intersections.json").write_text('{"offenders": 3}')
    with pytest.raises(JobError, match="damaged"):
        job.intersections()


def test_surfaces_that_touch_begin_apart(tmp_path) -> None:
    surface = _box()
    bodies = [
        SoftBody(
            SurfaceMesh(np.add(surface.vertices, (0, 0, k)), surface.triangles, edge_length=0.34),
            name=str(k),
        )
        for k in range(2)
    ]
    job = Job.create(tmp_path / "job", Scene(bodies, contact=Contact()), Settings(1, device="cpu"))
    assert _run(job.folder, "--mesh-only").returncode == 0
    lower, upper = (body.initial_positions for body in job.solids.bodies)
    assert lower is not None and upper is not None
    assert lower[:, 2].max() < upper[:, 2].min() + 0.05
    assert job.intersections() is None


def _touching(folder: Path) -> Job:
    """A box that falls on a plate that rises."""
    surface = _box()
    plate = np.array([[-1.0, -1, 0.45], [2, -1, 0.45], [2, 2, 0.45], [-1, 2, 0.45]])
    rising = plate + np.linspace(0.0, 0.05, 6)[:, None, None] * np.array([0.0, 0.0, 1.0])
    scene = Scene(
        [SoftBody(surface, StableNeoHookean(3e4, 0.4), velocity=(0.5, 0.0, -1.0), name="Jelly")],
        colliders=[Collider(rising, [[0, 1, 2], [0, 2, 3]])],
        contact=Contact(distance=0.02),
    )
    return Job.create(folder, scene, Settings(12, device="cpu"))


def test_a_job_with_contact_killed_and_resumed_has_the_same_bytes(tmp_path: Path) -> None:
    whole, job = _touching(tmp_path / "whole"), _touching(tmp_path / "killed")
    done = _run(whole.folder)
    assert done.returncode == 0, done.stderr
    worker = subprocess.Popen([*COMMAND, str(job.folder)], stdout=subprocess.DEVNULL)
    while not job.has_frame(4):
        assert worker.poll() in (None, 0)
        time.sleep(0.001)
    worker.kill()
    worker.wait()
    assert _run(job.folder).returncode == 0
    for index in range(13):
        assert job.frame_path(index).read_bytes() == whole.frame_path(index).read_bytes(), index
    records = whole.records()
    assert records[-1]["contacts"] > 0
    assert 0.0 < records[-1]["minimum_distance"] < 0.02
    assert [r["contacts"] for r in job.records()] == [r["contacts"] for r in records]
