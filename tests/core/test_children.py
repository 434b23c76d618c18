# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests in a process that ignores Ctrl-C, as the background jobs of scripts do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import multiprocessing, os, signal, subprocess, sys, time
from pathlib import Path

COMMAND = [sys.executable, "-S", "-c", "print('ready', flush=True); import time; time.sleep(600)"]
FOLDER = Path(__file__).parent


def test_that_fails_beside_its_child():
    child = subprocess.Popen(COMMAND, stdout=subprocess.PIPE)
    (FOLDER / "child").write_text(str(child.pid))
    raise ValueError


def test_that_fails_beside_its_fork():
    child = multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(600.0,))
    child.start()
    (FOLDER / "fork").write_text(str(child.pid))
    raise ValueError


def test_that_both_are_gone():
    for name in ("child", "fork"):
        try:
            os.kill(int((FOLDER / name).read_text()), 0)
        except ProcessLookupError:
            continue
        raise AssertionError(name)


def test_that_ctrl_c_ends_a_child():
    child = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout.readline()
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=20.0) in (-signal.SIGINT, 130, 1)


def test_that_ctrl_c_ends_a_fork():
    child = multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(600.0,))
    child.start()
    for _ in range(200):  # forked children hear it a moment after they begin
        os.kill(child.pid, signal.SIGINT)
        child.join(timeout=0.1)
        if child.exitcode is not None:
            break
    assert child.exitcode not in (None, 0)


def test_that_this_process_still_ignores_it():
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.skipif(os.name != "posix", reason="shells elsewhere ignore no signal")
def test_children_hear_ctrl_c_and_end_with_their_test(tmp_path: Path) -> None:
    (tmp_path / "test_children_of_others.py").write_text(TESTS)
    options = ("-p", "supple.tests.conftest", "-p", "no:cacheprovider", "--rootdir", ".", "-q")
    done = subprocess.run(
        ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "2 failed, 4 passed" in done.stdout, done.stdout + done.stderr
