# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads the solver and compiles its loops before they are needed, by simulating tiny scenes.

What is compiled stays on the disk, so that only the first worker of an installation takes long.
It says so in lines such as ``preparing 0.42`` on standard output, for Blender to show.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..garbage import kept_for_good
from ..geometry.embedding import embed
from ..geometry.tet_mesh import TetMesh
from ..materials import CorotatedLinear, StableNeoHookean
from ..scene.absorber import Absorber
from ..scene.channel import Channel
from ..scene.contact_settings import Contact, ContactSurface
from ..scene.force_fields import ForceField
from ..scene.goals import Goals
from ..scene.ground import Ground
from ..scene.plasticity import Plasticity
from ..scene.rest_shape import RestShape
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.velocity_grid import VelocityGrid
from .output import say

if TYPE_CHECKING:
    from ..integrators import Integrator

_PREPARING = "preparing "
_MARK = "prepared"
# In bytes, of those that tell how far it is, and the end of the one before.
_LONGEST_LINE = 100

Piece = Callable[[], None]


def prepare_for(scene: Scene) -> None:
    """Loads and compiles what most simulations of such a scene need."""
    _prepare(_say_when_compiling)
    _prepare(_tetrahedra)
    _prepare(_steps)
    if any(body.plasticity is not None for body in scene.bodies):
        _prepare(_plasticity)
    if any(body.target_volume is not None for body in scene.bodies):
        _prepare(_gas)
    if any(body.changes_rest_shape for body in scene.bodies):
        _prepare(_rest_shape)
    if scene.contact is not None:
        _prepare(_clearance)
    # A body alone may never touch itself.
    if scene.contact is not None and len(scene.bodies) + len(scene.meshes) > 1:
        _prepare(_contact)


def prepare_everything(wanted: threading.Event) -> None:
    """Loads and compiles what simulations need, until ``wanted`` is set."""
    for piece in (
        _say_when_compiling,
        _tetrahedra,
        _steps,
        _clearance,
        _contact,
        _viscosity,
        _plasticity,
        _bounce,
        _constraints,
        _stretches,
        _noise,
        _gas,
        _rest_shape,
        _gradients,
    ):
        if wanted.is_set():
            return
        _prepare(piece)
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        # Where nothing can be written, loops are not kept either: the next session begins anew.
        with contextlib.suppress(OSError):
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / _MARK).write_bytes(_fingerprint().encode())
    say("prepared")


def is_prepared(folder: Path) -> bool:
    """Whether ``prepare_everything`` went through with loops kept in a folder, for these files."""
    try:
        return (folder / _MARK).read_bytes() == _fingerprint().encode()
    except OSError:
        return False


def progress(output: Path) -> float | None:
    """How many of its loops a worker has, 0 … 1; None when it compiles none.

    Args:
        output: the file it prints to.
    """
    try:
        with output.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_LINE))
            printed = file.read().decode(errors="replace")
    except OSError:  # it has printed nothing yet, or has gone
        return None
    whole, _, _ = printed.rpartition("\n")
    last = whole.rpartition("\n")[2]
    share = last.removeprefix(_PREPARING)
    is_share = last.startswith(_PREPARING) and re.fullmatch(r"\d\.\d\d", share)
    return float(share) if is_share else None


def say_compiling() -> None:
    """Prints how far this process is if it compiles a loop right now."""
    if _compiled is not None:
        say(f"{_PREPARING}{_compiled:.2f}")


_lock = threading.Lock()
# How many of the loops there are, 0 … 1, while one is being compiled.
_compiled: float | None = None
_prepared: set[Piece] = set()


def _prepare(piece: Piece) -> None:
    """Once a process; waits where another thread is at it."""
    with _lock:
        if piece not in _prepared:
            # Where loops cannot be kept, the simulation comes to the same and says so.
            with contextlib.suppress(OSError), kept_for_good():
                piece()
                _prepared.add(piece)


def _say_when_compiling() -> None:
    from ..compiled import loops, numba

    if numba is None:
        return
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: object) -> None:
            global _compiled
            _compiled = sum(bool(loop.overloads) for loop in loops) / len(loops)
            say_compiling()

        def on_end(self, event: object) -> None:
            global _compiled
            _compiled = None

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


def _fingerprint() -> str:
    """Changes with every file that numba would compile anew for."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(root.rglob("*.py"))
    stats = [(str(path.relative_to(root)), path.stat()) for path in files]
    known = [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]
    return hashlib.sha256(repr((str(root), known)).encode()).hexdigest()


# The tiny scenes


def _tetrahedra() -> None:
    from ..geometry.embedding import embed
    from ..meshing import tetrahedralize

    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    triangles = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    embed(tetrahedralize(corners, triangles, edge_length=0.9), corners)


def _steps() -> None:
    from ..integrators import ImplicitEuler, SymplecticEuler

    for integrator in (SymplecticEuler(), ImplicitEuler()):
        for body in (_tet(), _seen_tet()):
            _simulate(Scene([body], Ground()), integrator)
        for sag_free in (False, True):
            drawn = replace(_tet(), goals=_goals(sag_free))
            _simulate(Scene([drawn]), integrator)


def _clearance() -> None:
    if find_spec("ipctk") is None:
        return
    from ..integrators import Automatic

    # Farther apart than surfaces push, and within what is looked at.
    bodies = [_tet(), _tet(height=1.007)]
    _simulate(Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=Contact()), Automatic())


def _contact() -> None:
    if find_spec("ipctk") is None:
        return
    from ..integrators import ImplicitEuler, SymplecticEuler

    # Fast enough to be held where it meets the other, which some loops are for.
    falling = replace(_tet(height=1.001), velocity=(0.0, 0.0, -5.0), friction=0.5)
    bodies = [replace(_tet(), friction=0.5), falling]
    for integrator in (SymplecticEuler(), ImplicitEuler()):
        _simulate(Scene(bodies, Ground(), contact=Contact()), integrator)


def _viscosity() -> None:
    from ..integrators import ImplicitEuler, SymplecticEuler

    thick = replace(_tet(), viscosity=1.0, stiffness_damping=0.01)
    for integrator in (SymplecticEuler(), ImplicitEuler()):
        _simulate(Scene([thick], Ground()), integrator)


def _plasticity() -> None:
    from ..integrators import SymplecticEuler

    # Soft enough to flow under its weight, which loops are for.
    clay = replace(_tet(), plasticity=Plasticity(1.0))
    _simulate(Scene([clay], Ground()), SymplecticEuler())


def _gradients() -> None:
    import torch

    from ..adjoint import simulate
    from ..integrators import Midpoint, SymplecticEuler

    young = torch.tensor(1e5, dtype=torch.float64, requires_grad=True)
    soft = replace(_tet(), material=StableNeoHookean(young), viscosity=1.0)
    above = replace(_tet(height=1.01), velocity=(0.0, 0.0, -1.0))
    clay = replace(soft, plasticity=Plasticity(1.0))
    seen = replace(_seen_tet(), material=StableNeoHookean(young))
    scenes = [Scene([clay], Ground()), Scene([seen], Ground()), *_reshaped()]
    if find_spec("ipctk") is not None:
        scenes.append(Scene([soft, above], Ground(), contact=Contact()))
    runs = [(scene, SymplecticEuler()) for scene in scenes]
    for scene, integrator in [*runs, (Scene([soft], Ground()), Midpoint())]:
        frames = simulate(scene, integrator, frames=1)
        torch.autograd.backward(frames[-1].positions[0].sum())


def _reshaped() -> list[Scene]:
    """Of bodies that gradients by rest shapes are wanted of."""
    import torch

    body = _tet()
    assert isinstance(body.mesh, TetMesh)
    vertices = torch.tensor(body.mesh.vertices, requires_grad=True)
    body = replace(body, mesh=TetMesh(vertices, body.mesh.tets))
    return [Scene([body]), Scene([replace(body, viscosity=1.0)])]


def _bounce() -> None:
    from ..integrators import SymplecticEuler

    _simulate(Scene([_seen_tet()], Ground(response="projection")), SymplecticEuler())


def _constraints() -> None:
    from ..integrators import XPBD

    _simulate(Scene([_tet()], Ground()), XPBD())


def _stretches() -> None:
    from ..integrators import ImplicitEuler

    _simulate(Scene([replace(_tet(), material=CorotatedLinear())], Ground()), ImplicitEuler())


def _noise() -> None:
    from ..integrators import ImplicitEuler

    field = ForceField("turbulence", is_absorbed=True)
    wall = Absorber(Channel.constant(np.eye(3)), np.array([[0, 1, 2]], dtype=np.int32))
    _simulate(Scene([_tet()], forces=[field], absorbers=[wall]), ImplicitEuler())
    still = VelocityGrid(np.zeros((1, 1, 1, 3), dtype=np.float32), Channel.constant(np.eye(3, 4)))
    flow = ForceField("fluid_flow", grid=still)
    _simulate(Scene([_tet()], forces=[flow]), ImplicitEuler())


def _gas() -> None:
    from ..integrators import ImplicitEuler

    _simulate(Scene([replace(_tet(), target_volume=1.1)]), ImplicitEuler())


def _rest_shape() -> None:
    from ..integrators import ImplicitEuler

    body = _tet()
    assert isinstance(body.mesh, TetMesh)
    amounts = Channel(np.array([[0.0], [0.1], [0.2]]))
    growing = replace(body, rest_shape=RestShape(body.mesh.vertices[None], amounts))
    _simulate(Scene([growing]), ImplicitEuler())


def _tet(height: float = 0.001) -> SoftBody:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    corners[:, 2] += height
    return SoftBody(TetMesh(corners, [[0, 1, 2, 3]]))


def _goals(sag_free: bool) -> Goals:
    targets = Channel.constant([[0.0, 0.0, 0.1]])
    return Goals(np.array([0], dtype=np.int32), targets, sag_free=sag_free)


def _seen_tet() -> SoftBody:
    """One that the ground meets at the points of a surface."""
    body = _tet()
    assert isinstance(body.mesh, TetMesh)
    points, triangles = body.mesh.vertices, body.mesh.surface
    seen = ContactSurface(points, triangles, embed(body.mesh, points))
    return replace(body, seen_surface=seen)


def _simulate(scene: Scene, integrator: Integrator) -> None:
    from ..simulator import Simulator

    for _ in Simulator(scene, integrator, device="cpu").run(2):
        pass
