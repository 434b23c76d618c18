# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of an engine for the benchmark."""

from __future__ import annotations

from typing import Protocol

from ..drop import Drop, Positions


class PeerInstabilityError(RuntimeError):
    """The engine itself found the steps too long."""


class Peer(Protocol):
    """An engine that holds one drop."""

    #: What the engine counted since the start, such as iterations.
    work: dict[str, int]

    def __init__(self, drop: Drop) -> None: ...

    def start(self, steps: int) -> None:
        """Puts the body back where it starts; frames take ``steps`` time steps from now on.

        Raises:
            PeerInstabilityError: the engine refuses so few.
        """

    def frame(self) -> Positions:
        """The vertices (N, 3) a frame later, in metres.

        Raises:
            PeerInstabilityError: the engine gave up.
        """
