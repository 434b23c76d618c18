# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from supple.core.scene.schema import check_members, conforms

FLOATS, WHOLES = NDArray[np.float64], NDArray[np.int32]
NAN = float("nan")
T = TypeVar("T", bound=np.generic)
#: As numpy declares it from 2.5 on, where Python is 3.12 or later.
Aliased = TypeAliasType("Aliased", np.ndarray[Any, np.dtype[T]], type_params=(T,))


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (float, [0.5, 3], ["0.5", True, None, NAN, float("inf"), 10**400]),
        (int, [3, -3], [3.0, True, "3", None]),
        (bool, [True], [1, "True", None]),
        (str, [""], [1, None, b""]),
        (float | None, [0.5, None], ["0.5", NAN]),
        (Literal["a", "b"], ["a"], ["c", 1, None, []]),
        (list[int], [[], [1, 2]], [[1.5], 3, "12", {}, None]),
        (tuple[float, float], [[1, 2], (0.5, 1)], [[1], [1, 2, 3], [1, "2"], 2.0]),
        (tuple[str, ...], [[], ["a", "b"]], [[1], "ab"]),
        (FLOATS, [np.zeros(2), np.zeros(2, int)], [[0.0], np.array([NAN]), np.array(["a"])]),
        (WHOLES, [np.zeros(2, int)], [np.zeros(2), np.array([True]), 3]),
        (NDArray[np.bool_], [np.array([True])], [np.zeros(1), np.zeros(1, int), True]),
        (Aliased[np.int32], [np.zeros(2, int)], [np.zeros(2), np.array([True]), 3]),
        (Aliased[np.float64] | None, [np.zeros(2), None], [[0.0], np.array([NAN])]),
        (Any, [0.5, np.zeros(2)], ["0.5", None, True, np.array([NAN]), []]),
    ],
)
def test_values_and_annotations(hint: Any, right: list[Any], wrong: list[Any]) -> None:
    assert [value for value in right if not conforms(value, hint)] == []
    assert [value for value in wrong if _conforms(value, hint)] == []


def _conforms(value: object, hint: Any) -> bool:
    """Numbers that Python cannot make floats of raise, as their readers expect."""
    try:
        return conforms(value, hint)
    except OverflowError:
        return False


@dataclass
class Thing:
    size: float
    name: str = ""


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"size": "big"}, "size of Thing cannot be 'big'"),
        ({"size": 1.0, "name": [5]}, "name of Thing cannot be a list"),
        ({"size": np.zeros(2)}, r"size of Thing cannot be an array of float64 of the shape \(2,\)"),
    ],
)
def test_what_does_not_fit_is_named(members: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_members(Thing, members)


def test_what_fits_and_what_is_unknown_passes() -> None:
    check_members(Thing, {"size": 3, "colour": "left to the one who makes the thing"})
