# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of this machine by each system's way to tell it, and what fits into it."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import supple
from supple.core import machine
from supple.core.garbage import uncollected
from supple.core.version import version

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


def test_nothing_is_collected_meanwhile_and_all_as_before_then() -> None:
    with pytest.raises(ZeroDivisionError), uncollected():  # noqa: PT012
        with uncollected():
            pass
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


@pytest.mark.parametrize(("before", "after"), [("enable", True), ("disable", False)])
def test_what_is_loaded_for_good_is_not_gone_through_later(before: str, after: bool) -> None:
    """In a process of its own: it would stay so here."""
    script = (
        "import gc\n"
        "from supple.core.garbage import kept_for_good\n"
        f"gc.{before}()\n"
        "with kept_for_good():\n"
        "    kept = [[] for _ in range(1000)]\n"
        "    frozen = gc.get_freeze_count()\n"
        "print(frozen, gc.get_freeze_count() >= 1000, gc.isenabled())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == f"0 True {after}\n", done.stderr


def test_the_package_and_the_extension_have_the_version_that_caches_keep() -> None:
    root = Path(supple.__file__).parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    manifest = tomllib.loads((root / "blender_manifest.toml").read_text())
    assert project["version"] == manifest["version"] == version()
