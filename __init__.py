# SPDX-License-Identifier: GPL-3.0-or-later
"""Supple: soft bodies for Blender, with a finite-element core that runs without it."""

__version__ = "0.1.0"


def register() -> None:
    """Called by Blender when the extension is enabled."""
    from . import addon

    addon.register()


def unregister() -> None:
    """Called by Blender when the extension is disabled."""
    from . import addon

    addon.unregister()
