# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple simulate scene.blend …`` and other commands: Supple on Blender's wheel."""

from __future__ import annotations

import importlib.util
import sys

from supple.core.errors import INTERRUPTED


def main() -> int:
    if importlib.util.find_spec("bpy") is None:
        print(
            f"supple: {sys.executable} has no bpy, Blender as a Python package. Install it with "
            "pip, or use blender scene.blend --command supple.",
            file=sys.stderr,
        )
        return 1
    try:
        from supple.addon.command_line import run_with_file

        from . import register

        register()
    except KeyboardInterrupt:
        print("supple: stopped before it began.", file=sys.stderr)
        return INTERRUPTED
    return run_with_file(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
