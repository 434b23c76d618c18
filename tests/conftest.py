# SPDX-License-Identifier: GPL-3.0-or-later
"""``--quick`` runs the tests that were the quickest when all ran, for 40 s of one core."""

from __future__ import annotations

import gc
import zlib
from collections.abc import Generator, Iterator

import pytest

from supple.core.garbage import kept_for_good
from supple.tests import children

QUICK_SECONDS = 40.0
#: What a test counts for that has not run here yet: the mean of all.
UNKNOWN_SECONDS = 0.15
SECONDS = "supple/seconds"

_seconds: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempt objects that live until the end from every garbage collection."""
    with kept_for_good():
        return (yield)


def pytest_configure() -> None:
    children.restore_ctrl_c()


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    with children.end_all():
        yield


def pytest_unconfigure() -> None:
    # What is never collected never ends: Blender's threads would be waited for without end.
    gc.unfreeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only the quickest of the tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    assert config.cache is not None
    took = {item.nodeid: UNKNOWN_SECONDS for item in items} | config.cache.get(SECONDS, {})
    left, chosen = QUICK_SECONDS, set()
    # Those that have not run here come from all files.
    names = sorted((item.nodeid for item in items), key=lambda name: zlib.crc32(name.encode()))
    for name in sorted(names, key=took.__getitem__):
        left -= took[name]
        if left < 0.0:
            break
        chosen.add(name)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keeps how long tests took; where some are left out, others take the time of what they share.

    Processes side by side report to one, which does it.
    """
    config = session.config
    # ``-p no:cacheprovider`` leaves pytest without one.
    cache: pytest.Cache | None = getattr(config, "cache", None)
    if cache is None or config.getoption("--quick") or hasattr(config, "workerinput"):
        return
    cache.set(SECONDS, cache.get(SECONDS, {}) | _seconds)
