# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a system, asked for by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from torch import Tensor

from .table import RESULTS, in_order

if TYPE_CHECKING:
    from ..potentials import Elasticity
    from ..state import State
    from ..system import System

#: From a state to the values of each body.
Field = Callable[["State"], list[Tensor]]
#: Whether the state that is asked about was solved for by implicit steps, or as an equilibrium.
IsImplicit = Callable[[], bool]


def fields_of(system: System, is_implicit: IsImplicit, names: Sequence[str]) -> dict[str, Field]:
    """What computes the results of these names for the states of a system.

    Raises:
        SceneError: when there is no such result, or it cannot be had of this system.
    """
    return {name: _function(name)(system, is_implicit) for name in in_order(names)}


def by_body(system: System, values: Tensor) -> list[Tensor]:
    """(N,) of all vertices, as one tensor a body."""
    return [values[where].contiguous() for where in system.body_slices()]


def by_tets(system: System, values: Callable[[Elasticity], Tensor]) -> list[Tensor]:
    """(M,) a body, from what ``values`` says of the tets of each elasticity."""
    found: dict[int, Tensor] = {}
    for part in system.elasticities:
        start, own = 0, values(part)
        for first, mesh in part.tets.meshes:
            found[first] = own[start : start + len(mesh.tets)]
            start += len(mesh.tets)
    return [found[first].contiguous() for first in system.vertex_offsets[:-1]]


def _function(name: str) -> Callable[[System, IsImplicit], Field]:
    module, function = RESULTS[name].where.split(".")
    found: Callable[[System, IsImplicit], Field] = getattr(
        import_module(f".{module}", __package__), function
    )
    return found
