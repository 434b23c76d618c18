# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m looks.static_squeeze_run BODY FINER PATH``: settles one body and prints its figures.

A process of its own, of whatever version of Supple its python has.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import numpy as np

from .static_squeeze import RESOLUTIONS, simulate

REPEATS = 5


def main() -> None:
    body, finer, path = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    figures, seen = simulate(body, finer)
    if finer in RESOLUTIONS:
        # The first run compiled the loops; references are not timed.
        runs = [simulate(body, finer)[0] for _ in range(REPEATS)]
        for name in ("seconds", "filling_seconds"):
            figures[name] = statistics.median(run[name] for run in runs)
    np.save(path, seen)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
