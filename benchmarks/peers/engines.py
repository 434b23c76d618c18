# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ..drop import Drop
from .peer import Peer


@dataclass(frozen=True)
class Engine:
    """An engine: the module of its ``Peer``, and the arguments of that.

    Args:
        explicit: whether its elasticity is, so that its steps cannot be much longer than ours.
        equal_masses: whether it gives all vertices the same mass.
    """

    module: str
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    explicit: bool = False
    equal_masses: bool = False

    def hold(self, drop: Drop) -> Peer:
        module = import_module(f".{self.module}", __package__)
        peer: Peer = getattr(module, self.name)(drop, **self.settings)
        return peer


def _supple(integrator: str, explicit: bool = False, **settings: Any) -> Engine:
    return Engine("supple_solver", "SuppleSolver", {"integrator": integrator, **settings}, explicit)


ENGINES = {
    "supple-symplectic-euler": _supple("SymplecticEuler", explicit=True),
    # Puts vertices back on the ground, without any bounce, as torch-diffsim and Bullet do.
    "supple-projecting": _supple("SymplecticEuler", explicit=True, response="projection"),
    "supple-implicit-euler": _supple("ImplicitEuler", tolerance=1e-3),
    "supple-bdf2": _supple("BDF2"),
    # One Newton iteration a step, as engines for games take a few of theirs.
    "supple-implicit-euler-loose": _supple("ImplicitEuler", tolerance=10.0),
    "torch-diffsim": Engine("torch_diffsim", "TorchDiffsim", explicit=True),
    "newton-semi-implicit": Engine("newton_solvers", "SemiImplicit", explicit=True),
    "newton-vbd": Engine("newton_solvers", "VertexBlockDescent"),
    "bullet": Engine("bullet_deformable", "BulletDeformable", explicit=True, equal_masses=True),
    "mujoco": Engine("mujoco_flex", "MujocoFlex"),
}
