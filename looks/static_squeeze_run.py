# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m looks.static_squeeze_run BODY FINER PATH``: settles one body and prints its figures.

A process of its own, of whatever version of Supple its python has.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from .static_squeeze import RESOLUTIONS, simulate


def main() -> None:
    body, finer, path = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    if finer in RESOLUTIONS:
        # Compiles the loops; references are not timed.
        simulate(body, finer)
    found, seen = simulate(body, finer)
    np.save(path, seen)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
