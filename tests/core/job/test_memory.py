# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import __main__ as command
from supple.core.job import memory
from supple.core.machine import total_bytes

HUGE = 10**15


def _numpy_error() -> MemoryError:
    with pytest.raises(MemoryError) as caught:
        np.ones(HUGE)
    return caught.value


def _torch_error() -> RuntimeError:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(HUGE)
    return caught.value


@pytest.mark.parametrize(
    ("make", "bytes_needed"), [(_numpy_error, "7.11 PiB"), (_torch_error, "4e+03 TB")]
)
def test_memory_that_runs_out_is_named_with_bytes_and_a_cure(
    make, bytes_needed, monkeypatch, capsys
) -> None:
    error = make()

    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(command, "_work", fail)
    assert command.main(["somewhere"]) == 1
    words = capsys.readouterr().err
    assert words.startswith(f"error: Memory ran out: {bytes_needed} more were needed")
    assert "Lower the Resolution" in words
    if sys.platform == "linux":
        assert f"of {memory.in_bytes(total_bytes())}" in words


def test_a_graphics_card_that_is_full_is_named() -> None:
    error = RuntimeError("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has …")
    assert memory.is_shortage(error)
    assert "2.50 GiB more were needed" in memory.shortage_message(error)


def test_other_errors_are_not_of_memory(monkeypatch) -> None:
    assert not memory.is_shortage(RuntimeError("shapes do not fit"))

    def fail(_: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(command, "_work", fail)
    with pytest.raises(RuntimeError, match="shapes"):
        command.main(["somewhere"])


def test_bytes_are_legible() -> None:
    counts = (0, 999, 1000, 123_456_789, 16_000_000_000, 4 * 10**15)
    words = ["0 B", "999 B", "1 kB", "123 MB", "16 GB", "4e+03 TB"]
    assert [memory.in_bytes(count) for count in counts] == words


def test_without_figures_the_cure_is_there(monkeypatch) -> None:
    monkeypatch.setattr(memory, "total_bytes", lambda: None)
    assert memory.killed_message(None, Path("output.txt")).endswith(". See output.txt")
    assert "the solver had taken 5 GB." in memory.killed_message(5 * 10**9, Path("output.txt"))
