# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the numbers that describe a scene."""

from __future__ import annotations

import math
import operator
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..tracked import refuse_tracked

Vector = tuple[float, float, float]


def array(values: object, what: str, expected: str = "numbers") -> NDArray[Any]:
    """Numbers of any kind in an array of any shape."""
    refuse_tracked(values, what)
    try:
        parsed = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise SceneError(f"{what} must be numbers in rows of one length.") from error
    if parsed.dtype.kind not in "biuf":
        raise SceneError(f"{what} must be {expected}, not {values!r:.40}.")
    return parsed


def numbers(values: object, what: str) -> NDArray[np.float64]:
    """Floats in an array of any shape, finite or not."""
    return np.asarray(array(values, what), dtype=np.float64, order="C")


def number(value: object, what: str) -> float:
    """One number, finite or not."""
    parsed = array(value, what, "a number")
    if parsed.ndim:
        raise SceneError(f"{what} must be one number, not an array of the shape {parsed.shape}.")
    return float(parsed)


def positions(values: object, what: str) -> NDArray[np.float64]:
    """(N, 3) finite positions."""
    array = numbers(values, what)
    if array.ndim != 2 or array.shape[1] != 3:
        raise SceneError(f"{what} must hold (N, 3) positions, not {array.shape}.")
    broken = ~np.isfinite(array).all(axis=1)
    if broken.any():
        vertex = int(broken.argmax())
        raise SceneError(
            f"vertex {vertex} of {what} is not at a finite position ({array[vertex]}); move or "
            "delete it."
        )
    return array


def whole_numbers(values: object, what: str) -> NDArray[np.int32]:
    """Indices in an array of any shape."""
    refuse_tracked(values, what)
    try:
        parsed = np.asarray(values)
    except ValueError as error:
        raise SceneError(
            f"{what} is given by its index, and the rows have different lengths. Split faces into "
            "triangles first."
        ) from error
    if parsed.dtype == bool and parsed.size:
        raise SceneError(
            f"{what} is given by its index, not by a mask of true and false. Use "
            "np.flatnonzero(mask) to get indices."
        )
    if parsed.dtype.kind not in "iu" and parsed.size:
        raise SceneError(
            f"{what} is given by its index, a whole number, not by {parsed.flat[0]!s:.40}; make an "
            "array of integers of them."
        )
    array = parsed.astype(np.int32, copy=False)
    if (array != parsed).any():
        raise SceneError(f"{what} cannot be {parsed[array != parsed][0]}; there are fewer.")
    return array


def triangles(values: object, vertex_count: int, what: str) -> NDArray[np.int32]:
    """(T, 3) indices of vertices, at least one triangle."""
    array = whole_numbers(values, f"{what}: a corner of a triangle")
    if array.size == 0:
        raise SceneError(f"{what} has no faces; give it at least one triangle.")
    if array.ndim != 2 or array.shape[1] != 3:
        is_quads = array.ndim == 2 and array.shape[1] == 4
        cure = "; split quads into triangles first, (a, b, c, d) into (a, b, c) and (a, c, d)"
        raise SceneError(
            f"{what} must have (F, 3) triangles, not {array.shape}{cure if is_quads else ''}."
        )
    if array.min() < 0 or array.max() >= vertex_count:
        raise SceneError(f"{what} has a triangle that names a vertex it does not have.")
    return array


def tets(values: object, vertex_count: int, what: str) -> NDArray[np.int32]:
    """(M, 4) indices of vertices, at least one tet."""
    array = np.ascontiguousarray(whole_numbers(values, f"A corner of the tets of {what}"))
    if array.ndim != 2 or array.shape[1] != 4 or len(array) == 0:
        raise SceneError(f"The tets of {what} must be (M, 4) numbers, not {array.shape}.")
    if array.min() < 0 or array.max() >= vertex_count:
        raise SceneError(f"The tets of {what} name vertices that do not exist.")
    return array


def indices(values: object, count: int, what: str) -> NDArray[np.int32]:
    """Return distinct indices below ``count``."""
    array = whole_numbers(values, what).ravel()
    if len(array) and (array.min() < 0 or array.max() >= count):
        raise SceneError(f"{what} lies outside 0 … {count - 1}.")
    if len(np.unique(array)) != len(array):
        raise SceneError(f"{what} is named twice.")
    return array


def vector(values: object, what: str) -> Vector:
    """Three finite numbers."""
    array = numbers(values, what)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise SceneError(f"{what} must be three finite numbers, not {values!r}.")
    return (float(array[0]), float(array[1]), float(array[2]))


def finite(value: object, what: str) -> None:
    """A number that is neither infinite nor none at all."""
    if not math.isfinite(amount := number(value, what)):
        raise SceneError(f"{what} must be a finite number, not {amount:g}.")


def at_least_zero(value: object, what: str, unit: str = "") -> None:
    """A finite number that is not negative."""
    if not 0.0 <= (amount := number(value, what)) < math.inf:
        raise SceneError(f"{what} must be 0 or more{unit}, not {amount:g}.")


def above_zero(value: object, what: str, unit: str = "") -> None:
    """A finite number above zero."""
    if not 0.0 < (amount := number(value, what)) < math.inf:
        raise SceneError(f"{what} must be above 0{unit}, not {amount:g}.")


def share(value: object, what: str) -> None:
    """A number from 0 to 1."""
    if not 0.0 <= (amount := number(value, what)) <= 1.0:
        raise SceneError(f"{what} must be 0 … 1, not {amount:g}.")


def choice(value: object, choices: object, what: str) -> None:
    """Check that a value is one of the words of a ``Literal``."""
    names = get_args(choices)
    if not isinstance(value, str) or value not in names:
        raise SceneError(f"{what} must be one of {', '.join(names)}, not {value!r}.")


def whole_number(value: object, what: str) -> int:
    """Return an integer of any kind as an int."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise SceneError(f"{what} must be a whole number, not {value!r}.") from error


def time_steps(frame_time: float, substeps: int | None) -> int | None:
    """Check the seconds and the steps of a frame; return the step count as an int, or None."""
    if not 0.0 < frame_time < math.inf:
        raise SceneError(f"The time of a frame must be above 0 s, not {frame_time:g}.")
    if substeps is None:
        return None
    count = whole_number(substeps, "The number of substeps")
    if count < 1:
        raise SceneError(
            f"There must be at least 1 substep a frame, not {count}; None lets the integrator "
            "choose."
        )
    return count
