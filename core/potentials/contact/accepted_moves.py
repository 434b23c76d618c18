# SPDX-License-Identifier: GPL-3.0-or-later
"""The moves of collision surfaces that steps accept, for a check to observe.

Every step moves surfaces along straight lines, in one piece or in several. A piece counts as
accepted once nothing can take it back but the end of the whole frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .surface import CollisionSurface, Points

#: Takes a surface and its (V, 3) vertices before and after a move, in metres.
Observer = Callable[[CollisionSurface, Points, Points], None]

_observers: list[Observer] = []


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Reports all moves that are accepted meanwhile to an observer."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def are_observed() -> bool:
    return bool(_observers)


def report(surface: CollisionSurface, before: Points, after: Points) -> None:
    """Reports that (V, 3) vertices of a surface go straight from one place to another, in
    metres."""
    for observer in _observers:
        observer(surface, before, after)
