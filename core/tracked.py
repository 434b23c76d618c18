# SPDX-License-Identifier: GPL-3.0-or-later
"""Tensors with gradients in place of a scene's numbers. No torch here."""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar

from .errors import SceneError

Kind = TypeVar("Kind", bound=type)

_NAME = "_tracked"


def tracks_tensors(kind: Kind) -> Kind:
    """Decorate a class so that a member that is given as a tensor with grad holds its values, and
    ``tracked`` returns the tensor. Checks and readers of members see numbers only."""
    construct: Any = kind.__init__  # type: ignore[misc]
    signature = inspect.signature(construct)

    @functools.wraps(construct)
    def tracking(self: Any, *args: Any, **kwargs: Any) -> None:
        # To bind arguments takes longer than most classes take to check them.
        if not any(map(is_tracked, (*args, *kwargs.values()))):
            object.__setattr__(self, _NAME, {})
            construct(self, *args, **kwargs)
            return
        bound = signature.bind(self, *args, **kwargs)
        tensors = {name: value for name, value in bound.arguments.items() if is_tracked(value)}
        bound.arguments.update({name: plain(value) for name, value in tensors.items()})
        object.__setattr__(self, _NAME, tensors)
        construct(*bound.args, **bound.kwargs)

    kind.__init__ = tracking  # type: ignore[misc]
    return kind


def tracked(item: object) -> dict[str, Any]:
    """The tensors that members were given, by name."""
    return dict(getattr(item, _NAME, {}))


def is_tracked(value: object) -> bool:
    """Whether it is a tensor that requires grad."""
    return bool(getattr(value, "requires_grad", False))


def refuse_tracked(value: object, what: str) -> None:
    """Refuse tensors that require grad where nothing can be differentiated by them.

    Raises:
        SceneError: when a tensor requires grad where nothing can be differentiated by it.
    """
    if is_tracked(value):
        raise SceneError(
            f"{what} is a tensor that requires grad, but nothing can be differentiated by it; give "
            "numbers, or its .detach()."
        )


def plain(tensor: Any) -> Any:
    """Its values, as a number or an array."""
    values = tensor.detach().cpu()
    return values.item() if values.ndim == 0 else values.numpy()
