# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that takes from Blender's process what Blender itself lacks and a machine's may find beside
it: all that the solver runs on but numpy."""

WITHOUT_SOLVER = """
import sys
sys.modules.update(dict.fromkeys(("torch", "scipy", "numba", "cvxopt", "pytetwild")))
"""
