# SPDX-License-Identifier: GPL-3.0-or-later
"""What is verified, one file a subject; each has ``run()``, which answers a ``Subject``."""

from __future__ import annotations

from collections.abc import Callable

from ..check import Subject
from . import cantilever, energy, free_fall, hertz, momentum, order, patch_test, rotation, stress

#: In the order of the page.
SUBJECTS: dict[str, Callable[[], Subject]] = {
    "patch_test": patch_test.run,
    "stress": stress.run,
    "rotation": rotation.run,
    "free_fall": free_fall.run,
    "order": order.run,
    "energy": energy.run,
    "momentum": momentum.run,
    "cantilever": cantilever.run,
    "hertz": hertz.run,
}
