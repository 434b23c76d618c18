# SPDX-License-Identifier: GPL-3.0-or-later
"""Indices that a scene is given: what is no index is refused, not rounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from supple.core import (
    Absorber,
    Attachment,
    Collider,
    ContactSurface,
    Goals,
    SceneError,
    SoftBody,
    Stitches,
    SurfaceMesh,
)
from supple.core.scene.schema import check_members, conforms

from ..boxes import BOX_TRIANGLES, box_corners

QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1]]

OF_TRIANGLES = [Collider, SurfaceMesh, Absorber, ContactSurface]
OF_INDICES = [
    pytest.param(lambda given, mesh: SoftBody(mesh, pinned=given), id="pins"),
    pytest.param(lambda given, mesh: Attachment(0, given, 1), id="attachment"),
    pytest.param(lambda given, mesh: Stitches(0, given, 1), id="stitches"),
    pytest.param(lambda given, mesh: Goals(given, np.zeros((2, 3))), id="goals"),
]


@pytest.mark.parametrize("kind", OF_TRIANGLES)
@pytest.mark.parametrize(
    ("faces", "message"),
    [
        (QUADS, r"must have \(F, 3\) triangles, not \(3, 4\); split quads into triangles first"),
        ([0, 1, 2], r"must have \(F, 3\) triangles, not \(3,\)\."),
        ([[0, 1, 2], [0, 2, 3, 1]], "rows have different lengths. Split faces into triangles"),
        ([[0.0, 1.0, 2.7]], r"a whole number, not by 0\.0; make an array of integers"),
        ([[0, 1, 2**32]], "cannot be 4294967296; there are fewer"),
        ([[0, 1, 8]], "names a vertex it does not have"),
        ([], "has no faces"),
    ],
)
def test_faces_that_are_no_triangles_of_the_mesh_are_refused(
    kind: type, faces: list[Any], message: str
) -> None:
    with pytest.raises(SceneError, match=message):
        kind(box_corners(), faces)


@pytest.mark.parametrize("kind", OF_TRIANGLES)
def test_triangles_may_be_a_list_or_of_any_kind_of_integers(kind: type) -> None:
    for faces in (np.asarray(BOX_TRIANGLES).tolist(), np.asarray(BOX_TRIANGLES, dtype=np.uint64)):
        found = kind(box_corners(), faces).triangles
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, BOX_TRIANGLES)


@pytest.mark.parametrize("make", OF_INDICES)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.9, 1.9], r"given by its index, a whole number, not by 0\.9"),
        ([0, 2**32], "cannot be 4294967296"),
        ([True, False], r"not by a mask of true and false\. Use np\.flatnonzero\(mask\)"),
    ],
)
def test_what_is_no_index_of_a_vertex_is_refused(
    make_block, make: Callable[[Any, Any], object], given: list[Any], message: str
) -> None:
    with pytest.raises(SceneError, match=message):
        make(given, make_block())


def test_nothing_may_be_pinned(make_block) -> None:
    pinned = SoftBody(make_block(), pinned=[]).pinned
    assert pinned is not None
    assert pinned.dtype == np.int32
    assert len(pinned) == 0


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
