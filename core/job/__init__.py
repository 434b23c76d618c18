# SPDX-License-Identifier: GPL-3.0-or-later
"""The job folder: all data that pass between Blender, or a script, and the solver.

::

    scene.json, scene.npz      the scene, and the settings of the run
    solids.json, solids.npz    the same scene with its surfaces filled with tetrahedra; the run,
                               the version and the settings that made it, and a report for each
                               body on its tetrahedra
    intersections.json         the intersections at the start that keep the run from beginning
    frames/000000.npy …        (N, 3) vertex positions of all bodies, one after the other
    frames/000000.npz …        requested results of the frame, by name: (M,) of the tets or (N,)
                               of the vertices of all bodies
    log.jsonl                  one record a frame
    checkpoint_0.npz, …_1.npz  the states after the last two whole frames, of even and odd number
    states/000010.npz …        the states after every tenth frame, from which other runs go on
    resumed                    the folder of the run whose first frames this one has
    lock, claim-…              the lock of a running worker, with its process
    output.txt                 the output of a worker that Blender started
    fit.json … found.npz       the goal and the result of a search (``core/job/fits.py``)

Every file except locks and ``output.txt`` is written whole or not at all: fields before their
frame, the frame before its record, and the record before its checkpoint. A folder of a killed
worker can thus be read and resumed. Each file has a checksum, and so has each line of the log
(``core/job/files.py``).
"""

from ..scene.integrator_table import INTEGRATORS
from .folder import OUTPUT, Job
from .settings import Settings, digest

__all__ = ["INTEGRATORS", "OUTPUT", "Job", "Settings", "digest"]
