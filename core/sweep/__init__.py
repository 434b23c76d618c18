# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps: one scene simulated with many settings.

::

    from supple.core.sweep import Span, Sweep, run

    sweep = Sweep(
        grid={"Jelly.young": [1e4, 3e4], "ground.friction": Span(0.1, 0.9, 5)},
        random={"Jelly.damping": Span(0.1, 10.0, is_log=True)},
        samples=20,
    )
    rows = run(sweep, scene, Settings(frame_count=48), "softness")

Each run is a job folder in ``softness/runs``, named by its digest, so that finished runs are not
repeated. ``softness`` then holds the table, the pictures and the plots.
"""

from .driver import make, run
from .plan import Span, Sweep
from .sweep_file import read

__all__ = ["Span", "Sweep", "make", "read", "run"]
