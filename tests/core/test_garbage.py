# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from supple.core.garbage import uncollected


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
