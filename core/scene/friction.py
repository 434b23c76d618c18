# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb friction: the coefficients of two surfaces, and the smooth law of implicit steps.

All kinds of contact and all integrators use it. No torch here: the law is arithmetic on arrays and
tensors alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from .contact_settings import Collider, Contact, Ground, PairFriction, Sphere
from .scene import Scene
from .soft_body import SoftBody

# The name of the ground in a ``PairFriction``.
GROUND = "Ground"
# The coefficient that counts as no friction.
NO_FRICTION = 1e-30
# Below this share of the stick threshold a displacement has no direction.
MIN_SLIDE_RATIO = 1e-9

Values = NDArray[np.float64]


class Coefficients(NamedTuple):
    """Coulomb coefficients of some points or pairs, as arrays or as tensors of one shape.

    Args:
        static: while they stick.
        kinetic: once they slide; never above the static one.
    """

    static: Any
    kinetic: Any

    @property
    def act(self) -> bool:
        """Whether any of them rubs."""
        return bool((self.static > 0.0).any())

    @property
    def drop(self) -> Any:
        """Return the fraction by which the kinetic coefficient is lower than the static one."""
        return 1.0 - self.kinetic / self.static.clip(NO_FRICTION)


class FrictionTable:
    """Coefficients of every two objects of a scene: its bodies, then its mesh colliders, its
    spheres and its ground.

    Two surfaces have the geometric mean of their coefficients. One that has none takes those of
    the other, and where neither has any they are the contact's. A pair that the contact names has
    its own. A surface with a static coefficient alone slides with that, and nothing slides with
    more than its static one. With painted factors f₁ and f₂, both coefficients are multiplied by
    √(f₁ f₂), the geometric mean of the factors.

    Args:
        scene: without a contact it has the coefficients of ``Contact()``.

    Attributes:
        of_all: (O, O) each, symmetric.
        is_named: (O, O) whether the contact names a pair.

    Raises:
        SceneError: if the contact names a pair with an unknown object.
    """

    def __init__(self, scene: Scene) -> None:
        contact = scene.contact or Contact()
        objects: list[SoftBody | Collider | Sphere | Ground]
        objects = [*scene.bodies, *scene.meshes, *scene.spheres]
        names = [item.name for item in objects if not isinstance(item, Ground)]
        if scene.ground is not None:
            objects, names = [*objects, scene.ground], [*names, GROUND]
        static = combined([item.friction for item in objects], contact.friction)
        kinetic = combined([_sliding(item) for item in objects], _sliding(contact))
        self.all_pairs = Coefficients(static, np.minimum(kinetic, static))
        self.is_named = np.zeros(static.shape, dtype=bool)
        self._bodies, self._meshes = len(scene.bodies), len(scene.meshes)
        for pair in contact.pairs:
            self._set(pair, np.array(names))

    @property
    def mesh_pairs(self) -> Coefficients:
        """Return the (O, O) coefficients between the bodies, then the mesh colliders."""
        count = self._bodies + self._meshes
        return Coefficients(*(table[:count, :count] for table in self.all_pairs))

    def on_sphere(self, index: int) -> Coefficients:
        """Return the (B,) coefficients of the bodies on one of the spheres."""
        return self._on(self._bodies + self._meshes + index)

    @property
    def on_ground(self) -> Coefficients:
        """Return the (B,) coefficients of the bodies on the ground, where there is one."""
        return self._on(-1)

    def _on(self, index: int) -> Coefficients:
        return Coefficients(*(table[: self._bodies, index] for table in self.all_pairs))

    def _set(self, pair: PairFriction, names: NDArray[np.str_]) -> None:
        first, second = (_indices(names, name) for name in (pair.first, pair.second))
        tables = (*self.all_pairs, self.is_named)
        for table, value in zip(tables, (pair.friction, _sliding(pair), True), strict=True):
            table[np.ix_(first, second)] = value
            table[np.ix_(second, first)] = value


def combined(coefficients: list[float | None], default: float | None) -> Values:
    """Return the (O, O) coefficients between every two surfaces.

    Args:
        coefficients: of each surface; None takes the other's.
        default: the coefficient if neither has any.
    """
    values = np.array(coefficients, dtype=np.float64)
    first, second = np.broadcast_arrays(values[:, None], values)
    means = np.sqrt(first * second)
    # The root of a square may differ by rounding.
    means = np.where(first == second, first, means)
    one = np.where(np.isnan(first), second, first)
    pair_values = np.where(np.isnan(means), one, means)
    return np.where(np.isnan(pair_values), np.array(default, dtype=np.float64), pair_values)


def _sliding(item: SoftBody | Collider | Sphere | Ground | Contact | PairFriction) -> float | None:
    """The kinetic coefficient: without one, the static one."""
    return item.friction if item.kinetic_friction is None else item.kinetic_friction


def _indices(names: NDArray[np.str_], name: str) -> NDArray[np.intp]:
    indices = np.flatnonzero(names == name)
    if len(indices) == 0:
        known = ", ".join(dict.fromkeys(names.tolist()))
        raise SceneError(
            f"Contact: a pair names {name!r}, which is not one of the colliding objects: {known}."
        )
    return indices


# The law. A contact with a tangential displacement s since the step began is held back by
# μ N f₁(s/ε), with μ its static coefficient, N its normal force, and ε = ε_v h the stick threshold.
# Up to ε the force grows as 2r − r², r = s/ε, and between ε and 2ε it falls by a share, the
# ``drop``, to that of the kinetic coefficient. Its energy is μ N ε f₀.
#
# Source: Li et al., "Incremental Potential Contact", ACM Transactions on Graphics 39(4), 2020,
# section 5, whose one coefficient is a drop of zero.


def f0(ratio: Any, drop: Any) -> Any:
    """The integral of ``f1``, with f₀(0) = ⅓: without a drop it is r itself beyond 1."""
    grown, fallen = ratio.clip(0.0, 1.0), (ratio - 1.0).clip(0.0, 1.0)
    static = grown * grown * (1.0 - grown / 3.0) + 1.0 / 3.0 + (ratio - grown)
    dropped = fallen**3 * (1.0 - 0.5 * fallen) + (ratio - 2.0).clip(0.0)
    return static - drop * dropped


def f1(ratio: Any, drop: Any) -> Any:
    """The force in units of the one that breaks a contact loose."""
    grown, fallen = ratio.clip(0.0, 1.0), (ratio - 1.0).clip(0.0, 1.0)
    return grown * (2.0 - grown) - drop * (fallen * fallen * (3.0 - 2.0 * fallen))


def f1_slope(ratio: Any, drop: Any) -> Any:
    """The derivative of ``f1``, negative while the force falls."""
    grown, fallen = ratio.clip(0.0, 1.0), (ratio - 1.0).clip(0.0, 1.0)
    return 2.0 * (1.0 - grown) - drop * (6.0 * fallen * (1.0 - fallen))


def slide_stiffness(length: Any, threshold: Any, limit: Any, drop: Any) -> tuple[Any, Any]:
    """In N/m: the force over the displacement, which it is across that, and its derivative along
    it, negative while the force falls.

    Args:
        length, threshold: of the displacement, above zero, and ε, in metres.
        limit: μ N in newtons.
    """
    ratio = length / threshold
    return limit * f1(ratio, drop) / length, limit * f1_slope(ratio, drop) / threshold
