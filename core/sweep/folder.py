# SPDX-License-Identifier: GPL-3.0-or-later
"""The files in the folder of a sweep, and the row of a run.

::

    scene/             a job folder without frames, the base of all variants sweep.json         the
    settings to vary measures.py        the script of further measures, if any runs/              a
    job folder for each run, named by its digest, with its measures and picture table.csv, …
    the results
"""

from __future__ import annotations

from typing import Any

#: In the folder of a sweep.
SCENE, PLAN, RUNS, SCRIPT = "scene", "sweep.json", "runs", "measures.py"
#: In the folder of a run.
MEASURES, PICTURE = "measures.json", "picture.png"
#: Why a run has to be done by another worker.
DISK, VERSION = "disk", "version"

# Settings and measures of a run; ``run`` is its digest, ``error`` is the reason for missing
# measures, and ``unfit`` the reason why another worker should try.
Row = dict[str, Any]
