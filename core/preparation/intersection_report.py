# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on intersections at the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class IntersectingObject:
    """An object that intersects another one or itself.

    Args:
        name: of the object.
        faces: (K,) indices of the triangles concerned among those that touch.
        points: (K, 3) their centres, in metres.
    """

    name: str
    faces: NDArray[np.int64]
    points: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IntersectionReport:
    """Objects that intersect at the start, and offsets that part them.

    Args:
        offenders: each object once.
        offsets: displacements that separate the bodies, in metres, by their names; None where
            moving does not help.
    """

    offenders: list[IntersectingObject]
    offsets: dict[str, Vector] | None

    @property
    def farthest(self) -> float:
        """Length of the longest of the offsets, in metres."""
        return max(
            (float(np.linalg.norm(offset)) for offset in (self.offsets or {}).values()), default=0
        )

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "offenders": [
                {"name": each.name, "faces": each.faces.tolist(), "points": each.points.tolist()}
                for each in self.offenders
            ],
            "offsets": self.offsets,
        }

    @staticmethod
    def of(record: dict[str, Any]) -> IntersectionReport:
        """Read the result of ``record``; KeyError, TypeError and ValueError where it did not."""
        offenders = [
            IntersectingObject(
                str(each["name"]),
                np.array(each["faces"], dtype=np.int64),
                np.array(each["points"], dtype=np.float64).reshape(-1, 3),
            )
            for each in record["offenders"]
        ]
        offsets = record["offsets"]
        if offsets is not None:
            offsets = {name: (float(x), float(y), float(z)) for name, (x, y, z) in offsets.items()}
        return IntersectionReport(offenders, offsets)
