# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a worker, tested with programs that stand in for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from supple.addon.worker import session, solver_environment
from supple.addon.worker.session import State
from supple.core.errors import SuppleError
from supple.core.job import Job, lock, memory
from supple.core.machine import total_bytes


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "frames").mkdir()
    return Job(tmp_path)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch):
    """Puts a Python program in the worker's place."""

    def stand_in(program: str) -> None:
        command: tuple[list[str], dict[str, str]] = ([sys.executable, "-c", program], {})
        monkeypatch.setattr(solver_environment, "worker_command", lambda *_: command)

    yield stand_in
    session.stop()


def outcome(running: session.Session) -> State:
    end = time.monotonic() + 20.0
    while running.poll().runs and time.monotonic() < end:
        time.sleep(0.01)
    return running.state


def test_a_worker_that_explains_itself_is_quoted(job, worker):
    worker("import sys; print('frame 1'); print('error: The cube is too soft.'); sys.exit(1)")
    running = session.start(job)
    assert outcome(running) is State.FAILED
    assert str(running.failure) == "The cube is too soft."


def test_a_worker_that_crashes_is_reported_with_the_file_of_its_output(job, worker):
    worker("import no_such_module")
    running = session.start(job)
    assert outcome(running) is State.FAILED
    assert str(running.failure).startswith("The solver ended unexpectedly")
    assert str(job.folder / "output.txt") in str(running.failure)
    assert "no_such_module" in (job.folder / "output.txt").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_worker_that_is_killed_for_its_memory_is_reported_with_what_it_took(job, worker):
    # 300 MB, and long enough to be seen with them.
    program = "import os, time; held = bytearray(300_000_000); held[::4096] = b'1' * 73243; "
    worker(program + "time.sleep(0.5); os.kill(os.getpid(), 9)")
    running = session.start(job)
    assert outcome(running) is State.FAILED
    words = str(running.failure)
    assert "killed (signal 9), most likely since memory ran out" in words
    assert "Resolution" in words
    if sys.platform == "linux":
        taken = float(words.split("the solver had taken ")[1].split(" MB")[0])
        assert 300.0 < taken < 400.0
        assert words.split(" MB of ")[1].startswith(memory.in_bytes(total_bytes()))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_worker_that_another_signal_ends_is_reported_with_its_number(job, worker):
    worker("import os; os.kill(os.getpid(), 11)")
    running = session.start(job)
    assert outcome(running) is State.FAILED
    assert "killed by signal 11" in str(running.failure)


def test_one_of_two_that_began_at_once_names_the_other_whose_output_is_there(job, worker):
    worker("import sys; open('output.txt', 'w').write('frame 1'); sys.exit(1)")
    with lock.hold(job.folder):
        running = session.start(job)
        assert outcome(running) is State.FAILED
    assert f"is in use: process {os.getpid()} simulates there." in str(running.failure)


def test_frames_and_states_follow_what_the_worker_writes(job, worker):
    worker(
        "import pathlib, sys\n"
        "for name in ('solids.json', 'frames/000000.npy', 'frames/000001.npy'):\n"
        "    sys.stdin.read(1)\n"
        "    pathlib.Path(name).touch()\n"
        "    print(name, flush=True)\n"
        "sys.stdin.read(1)\n"
    )
    running = session.start(job)
    assert running.poll() is State.MESHING
    seen = []
    for name in ("solids.json", "frames/000000.npy", "frames/000001.npy"):
        advance(running)
        while not (job.folder / name).exists():
            time.sleep(0.01)
        seen.append((running.poll(), running.last_frame))
    assert seen == [(State.SIMULATING, -1), (State.SIMULATING, 0), (State.SIMULATING, 1)]
    advance(running)
    assert outcome(running) is State.FINISHED


def test_only_one_worker_runs_at_a_time(job, worker):
    worker("import sys; sys.stdin.read()")
    session.start(job)
    with pytest.raises(SuppleError, match="running already"):
        session.start(job)


def test_a_cancelled_worker_is_gone(job, worker):
    worker("import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.stdin.read()")
    running = session.start(job)
    running.cancel()
    assert running.poll() is State.CANCELLED
    assert running._process.returncode is not None


def test_a_worker_that_cannot_be_started_is_reported(job, monkeypatch):
    missing = str(job.folder / "no python")
    monkeypatch.setattr(solver_environment, "worker_command", lambda *_: ([missing], {}))
    with pytest.raises(SuppleError, match="The solver cannot be started: No such file"):
        session.start(job)


def test_the_worker_ends_with_the_program_that_started_it(job):
    """Blender that dies closes the worker's standard input."""
    code = "from supple.core.job.parent import stop_when_input_closes as stop; stop(); "
    process = subprocess.Popen(
        [sys.executable, "-c", code + "print('ready', flush=True); import time; time.sleep(60)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    process.stdin.close()
    assert process.wait(20) != 0


def advance(running: session.Session) -> None:
    assert running._process.stdin is not None
    running._process.stdin.write(b".")
    running._process.stdin.flush()


def test_settling_is_seen_until_the_worker_says_the_next_thing(job, worker):
    worker(
        "import pathlib, sys\n"
        "from supple.core.job.log import report, report_settling\n"
        "pathlib.Path('solids.json').touch()\n"
        "for line in (report, lambda _: report_settling(['Cube']), report):\n"
        "    sys.stdin.read(1)\n"
        "    line('Cube settled before the first frame')\n"
        "    pathlib.Path('solids.json').write_text(str(line))\n"
        "sys.stdin.read(1)\n"
    )
    running = session.start(job)
    seen = []
    for count in (1, 2, 3):
        advance(running)
        printed = job.folder / "output.txt"
        while len(printed.read_text().splitlines()) < count:
            time.sleep(0.01)
        running.poll()
        seen.append(running.is_settling())
    assert seen == [False, True, False]
    running.cancel()
    assert not running.is_settling()
