# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker in a folder some of whose files are damaged, missing or from elsewhere."""

from __future__ import annotations

from pathlib import Path

from supple.core.job import Job

from ..box_job import copied, run


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
