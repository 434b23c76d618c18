# SPDX-License-Identifier: GPL-3.0-or-later
"""Coefficients of friction between every two objects of a scene."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..contact_settings import Collider, Contact, PairFriction
from ..errors import SceneError
from ..scene import Scene, SoftBody


class FrictionPairs:
    """Static and kinetic coefficients over the bodies of a scene and then its mesh colliders.

    Between two objects each is the geometric mean of theirs, unless the contact names the pair.
    What an object lacks it has from the contact; one with a static coefficient alone slides with
    that, and none slides with more than its static one.

    Args:
        scene: without a contact it has the coefficients of ``Contact()``.

    Attributes:
        static: (O, O) while two objects stick to each other, symmetric.
        kinetic: (O, O) once they slide, symmetric.

    Raises:
        SceneError: when the contact names a pair of which one is not there.
    """

    def __init__(self, scene: Scene) -> None:
        contact = scene.contact or Contact()
        objects: list[SoftBody | Collider] = [*scene.bodies, *scene.meshes]
        own = np.array([_coefficients(item, contact) for item in objects])
        names = np.array([item.name for item in objects])
        self.static, self.kinetic = (_means(column) for column in own.T)
        for pair in contact.pairs:
            self._set(pair, _indices(names, pair.first), _indices(names, pair.second))

    @property
    def is_uniform(self) -> bool:
        """Whether all objects rub alike: with the first entry of each table."""
        return all(bool((table == table[0, 0]).all()) for table in (self.static, self.kinetic))

    def _set(self, pair: PairFriction, first: NDArray[np.intp], second: NDArray[np.intp]) -> None:
        kinetic = pair.friction if pair.kinetic_friction is None else pair.kinetic_friction
        for table, value in ((self.static, pair.friction), (self.kinetic, kinetic)):
            table[np.ix_(first, second)] = value
            table[np.ix_(second, first)] = value


def _coefficients(item: SoftBody | Collider, contact: Contact) -> tuple[float, float]:
    """Static and kinetic ones of an object."""
    if item.friction is not None:
        static, kinetic = item.friction, item.kinetic_friction
    else:
        static = contact.friction
        kinetic = (
            contact.kinetic_friction if item.kinetic_friction is None else item.kinetic_friction
        )
    return static, static if kinetic is None else min(kinetic, static)


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(O, O) geometric means, of equals themselves: the root of a square may differ by rounding."""
    means = np.sqrt(np.outer(values, values))
    return np.where(values[:, None] == values, values, means)


def _indices(names: NDArray[np.str_], name: str) -> NDArray[np.intp]:
    found = np.flatnonzero(names == name)
    if len(found) == 0:
        known = ", ".join(dict.fromkeys(names.tolist()))
        raise SceneError(
            f"Contact: a pair names {name!r}, which is not among the objects that touch: {known}."
        )
    return found
