# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m benchmarks.peers.pile_run ENGINE PILE SECONDS``: one engine's pile, in this process.

After each frame keeps the positions, (frames, B, N, 3), beside the pile's file, and prints a line
of JSON with the seconds of all so far: what is stopped in a frame has those before. No frame begins
after SECONDS.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..pile import FRAMES, Pile, Positions
from .peer import PeerInstabilityError

# No body that stays in one piece gets farther from the origin, in metres, even through the bowl.
FARTHEST = 12.0


class PilePeer(Protocol):
    def frame(self) -> Positions:
        """The bodies (B, N, 3) a frame later, in metres.

        Raises:
            PeerInstabilityError: the engine gave up.
        """


@dataclass(frozen=True)
class PileEngine:
    """An engine that simulates the pile.

    Args:
        label: what it is called in tables.
        module, name: where its ``PilePeer`` is.
        steps: a frame, with which it survives; None leaves them to it.
        settings: what it is made with beside the pile and the steps.
    """

    label: str
    module: str
    name: str
    steps: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def hold(self, pile: Pile) -> PilePeer:
        kind = getattr(import_module(f".{self.module}", __package__), self.name)
        peer: PilePeer = kind(pile, self.steps, **self.settings)
        return peer


ENGINES = {
    "automatic": PileEngine(
        "Supple, automatic", "pile_supple", "SupplePile", None, {"integrator": "Automatic"}
    ),
    "implicit-euler": PileEngine(
        "Supple, implicit Euler", "pile_supple", "SupplePile", None, {"integrator": "ImplicitEuler"}
    ),
    "newton-vbd": PileEngine("Newton, VBD", "pile_newton", "NewtonPile", 20),
    "mujoco": PileEngine("MuJoCo flex", "pile_mujoco", "MujocoPile", 10),
    "bullet": PileEngine("Bullet deformable", "pile_bullet", "BulletPile", 20),
}


def main() -> None:
    engine, path, limit = ENGINES[sys.argv[1]], Path(sys.argv[2]), float(sys.argv[3])
    seconds: list[float] = []
    positions: list[Positions] = []
    peer = engine.hold(Pile.load(path))
    began = time.perf_counter()
    try:
        while len(positions) < FRAMES and time.perf_counter() - began < limit:
            start = time.perf_counter()
            after = peer.frame()
            seconds.append(time.perf_counter() - start)
            if not np.isfinite(after).all() or np.abs(after).max() > FARTHEST:
                raise PeerInstabilityError(f"flew apart in frame {len(seconds)}")
            positions.append(after)
            np.save(path.with_suffix(f".{sys.argv[1]}.npy"), np.array(positions))
            _say(seconds, "")
    except PeerInstabilityError as error:
        _say(seconds, str(error))


def _say(seconds: list[float], note: str) -> None:
    # Engines print too, and do not always end their lines.
    print("\n" + json.dumps({"seconds": seconds, "note": note}), flush=True)


if __name__ == "__main__":
    main()
