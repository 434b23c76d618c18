# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the worker from where this file lies, whatever its folders are called.

Inside Blender the package is ``bl_ext.….supple`` and in a checkout any folder; here it is
``supple``.
"""

import importlib.util
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    spec = importlib.util.spec_from_file_location(
        "supple", root / "__init__.py", submodule_search_locations=[str(root)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["supple"] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    runpy.run_module("supple.core", run_name="__main__", alter_sys=True)
