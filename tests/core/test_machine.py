# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of this machine by each system's way to tell it, and what fits into it."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import pytest

from supple.core import machine

VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               10000.
Pages active:                            400000.
Pages inactive:                           30000.
Pages speculative:                         2000.
Pages throttled:                              0.
Pages wired down:                        100000.
Pages purgeable:                            500.
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_linux_tells_total_and_available_memory() -> None:
    total, available = machine.total_bytes(), machine.available_bytes()
    assert total is not None and available is not None
    assert 0 < available < total


def test_without_a_word_of_the_system_only_processors_count(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(machine, "_MEMINFO", tmp_path / "meminfo")
    assert machine.available_bytes() is None
    assert machine.carried(4, machine.available_bytes(), 10**9) == 4


def test_windows_fills_its_structure(monkeypatch) -> None:
    def fill(reference) -> int:
        status = reference._obj
        assert status.length == ctypes.sizeof(status) == 64
        status.total, status.available = 16 * 10**9, 5 * 10**9
        return 1

    kernel = SimpleNamespace(GlobalMemoryStatusEx=fill)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    assert (machine.total_bytes(), machine.available_bytes()) == (16 * 10**9, 5 * 10**9)
    kernel.GlobalMemoryStatusEx = lambda _: 0
    assert (machine.total_bytes(), machine.available_bytes()) == (None, None)


def test_macos_counts_the_pages_that_can_be_taken(monkeypatch) -> None:
    printed = {"sysctl": "17179869184\n", "vm_stat": VM_STAT}
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(machine, "_printed", lambda name, *_: printed[name])
    assert machine.total_bytes() == 17_179_869_184
    assert machine.available_bytes() == 42_500 * 16_384
    monkeypatch.setattr(machine, "_printed", lambda *_: "")
    assert (machine.total_bytes(), machine.available_bytes()) == (None, None)


def test_a_program_that_is_not_there_prints_nothing() -> None:
    assert machine._printed("no-such-program-of-any-system") == ""


@pytest.mark.parametrize(
    ("at_most", "available", "count"),
    [(8, 5 * 10**9, 5), (2, 5 * 10**9, 2), (8, 10**8, 1), (8, None, 8)],
)
def test_as_many_processes_as_processors_and_memory_carry(at_most, available, count) -> None:
    assert machine.carried(at_most, available, 10**9) == count
