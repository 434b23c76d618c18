# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the worker from the folder of this file, with any folder names.

Inside Blender the package is ``bl_ext.….supple`` and in a checkout any folder; here it is
``supple``. ``launch.py sweep …`` runs the module of sweeps. Processes that Python's own
``multiprocessing`` starts from here load this file, too, and find the package.
"""

import importlib.util
import runpy
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
if "supple" not in sys.modules:
    spec = importlib.util.spec_from_file_location(
        "supple", root / "__init__.py", submodule_search_locations=[str(root)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["supple"] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)

if __name__ == "__main__":
    is_sweep = sys.argv[1:2] == ["sweep"]
    if is_sweep:
        del sys.argv[1]
    runpy.run_module(
        "supple.core.sweep" if is_sweep else "supple.core", run_name="__main__", alter_sys=True
    )
