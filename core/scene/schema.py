# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the content of files against the types that the code declares."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import SceneError
from .channel import Channel

#: The key in a dataclass member's metadata for members that are only written if they differ from
#: their default, so that files from before the member existed stay the same.
IF_THERE = "if_there"

# The kinds of arrays by their declared types.
_KINDS = ((np.bool_, "b"), (np.integer, "iu"), (np.number, "fiu"))


def check_members(kind: type, members: Mapping[str, object]) -> None:
    """Checks values against the annotations of a dataclass.

    Raises:
        ValueError: when one is of another type, or not finite.
    """
    hints = _hints(kind)
    for name, value in members.items():
        if name in hints and not conforms(value, hints[name]):
            raise ValueError(f"{name} of {kind.__name__} cannot be {_short(value)}")


def check_kinds(item: object, what: str) -> None:
    """Check the members of a dataclass that are names, descriptions or lists of them, such as the
    goals of a skin, and those that are true or false.

    Raises:
        SceneError: when one is of another kind.
    """
    described: type = type(item)
    for name, hint, kinds in _checked_members(described):
        value = getattr(item, name)
        # Else "no" is true.
        if hint is bool and not isinstance(value, (bool, np.bool_)):
            raise SceneError(f"{what}: {name} must be True or False, not {_short(value)}.")
        if not kinds or conforms(value, hint):
            continue
        expected = " or ".join(kind.__name__ for kind in kinds)
        if get_origin(hint) is list:
            raise SceneError(f"{what}: {name} must be a list of {expected} alone.")
        more = ", or None," if conforms(None, hint) else ""
        raise SceneError(
            f"{what}: {name} must be of the kind {expected}{more} and is {kind_of(value)}."
        )


def kind_of(value: object) -> str:
    """Return the name of a value's kind for messages, such as ``of the kind int``."""
    return "None" if value is None else f"of the kind {type(value).__name__}"


@functools.cache
def _checked_members(described: type) -> list[tuple[str, Any, list[type]]]:
    """The members that ``check_kinds`` checks: name, annotation and the kinds that it allows."""
    members = [(name, hint, _kinds(hint)) for name, hint in _hints(described).items()]
    return [(name, hint, kinds) for name, hint, kinds in members if kinds or hint is bool]


@functools.cache
def _kinds(hint: Any) -> list[type]:
    """Return the names and descriptions that an annotation allows; none for numbers and words."""
    if get_origin(hint) in (Union, UnionType, list):
        parts = [_kinds(part) for part in get_args(hint) if part is not NoneType]
        return [kind for part in parts for kind in part] if all(parts) else []
    is_kind = isinstance(hint, type) and hint not in (bool, int, float, Channel)
    return [hint] if is_kind and get_origin(hint) is None else []


def conforms(value: object, hint: Any) -> bool:
    """Whether a value fits an annotation. Numbers must be finite; ``Any`` is a number or array."""
    hint, kind, arguments = _parts(hint)
    if kind in (Union, UnionType):
        return any(conforms(value, choice) for choice in arguments)
    if kind is Literal:
        return isinstance(value, str) and value in arguments
    if hint is Channel:
        # The form in files, except for a channel with several samples a frame.
        if isinstance(value, Channel):
            return bool(np.isfinite(value.samples).all())
        return isinstance(value, np.ndarray) and _is_array_of(value, np.dtype[np.float64])
    if kind is np.ndarray:
        return isinstance(value, np.ndarray) and _is_array_of(value, arguments[1])
    if kind in (list, tuple):
        return isinstance(value, (list, tuple)) and _conform(value, arguments)
    if kind is dict:
        return isinstance(value, dict)
    if hint is Any:
        return conforms(value, float) or (
            isinstance(value, np.ndarray) and bool(np.isfinite(value).all())
        )
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    if hint is None:
        return value is None
    # A bool is an int for Python, and no count.
    return type(value) is int if hint is int else isinstance(value, hint)


@functools.cache
def _parts(hint: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """An annotation, its origin and its arguments; of a type alias, as numpy's ``NDArray`` is from
    2.5 on, those behind it."""
    alias = get_origin(hint)
    if hasattr(alias, "__value__"):
        hint = alias.__value__[get_args(hint)]
    return hint, get_origin(hint), get_args(hint)


def _conform(values: list[Any] | tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    """Check lists, tuples of any length, and tuples that have one annotation a member."""
    if len(hints) == 1 or hints[1:] == (Ellipsis,):
        return all(conforms(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(conforms, values, hints))


def _is_array_of(array: np.ndarray[Any, Any], dtype: Any) -> bool:
    scalar = get_args(dtype)[0]
    kinds = next(kinds for kind, kinds in _KINDS if issubclass(scalar, kind))
    return array.dtype.kind in kinds and bool(np.isfinite(array).all())


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _short(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of the shape {value.shape}"
    if isinstance(value, (bool, int, float, str, NoneType)):
        return repr(value)[:40]
    return f"a {type(value).__name__}"
