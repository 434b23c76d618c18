# SPDX-License-Identifier: GPL-3.0-or-later
"""The job folder: all that passes between Blender, or a script, and the solver.

::

    scene.json, scene.npz      what to simulate, and how
    solids.json, solids.npz    the same scene, its surfaces filled with tetrahedra; of which run, by
                               which version, with which settings; one report a body on its
                               tetrahedra
    intersections.json         what intersects at the start, where that keeps it from beginning
    frames/000000.npy …        (N, 3) vertex positions of all bodies, one after the other
    frames/000000.npz …        what results say of it, by name: (M,) of the tets or (N,) of the
                               vertices of all bodies; where any are asked for
    log.jsonl                  one record a frame
    checkpoint_0.npz, …_1.npz  the states after the last two whole frames, of even and odd number
    lock, claim-…              held by the worker while it is at work; which process that is
    output.txt                 what the worker printed, when Blender started it
    fit.json … found.npz       what is to be found instead of frames (``core/job/fits.py``)

Every file but those of locks and ``output.txt`` appears whole or not at all, fields before their
frame, that before its record and that before its checkpoint, so that a folder left by a killed
worker can be read and resumed. Each carries a checksum, each line of the log too
(``core/job/files.py``).
"""

from ..scene.integrator_table import INTEGRATORS
from .folder import OUTPUT, Job
from .settings import Settings, digest

__all__ = ["INTEGRATORS", "OUTPUT", "Job", "Settings", "digest"]
