# SPDX-License-Identifier: GPL-3.0-or-later
"""From the tensors of a scene to the numbers that steps read: of contact, forces and rest
shapes, too."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..materials.material import PARAMETERS
from ..math3.torch_matrices import inverses3
from ..obstacles import BARRIER_STIFFNESS_RATIO
from ..potentials import Elasticity, PrescribedPotential
from ..potentials.attachments import STIFFNESS_FACTOR, attached_vertices
from ..potentials.contact.barrier import YOUNG_RATIO
from ..potentials.enclosed_volume import TargetVolume as GasOfVolume
from ..potentials.fluid import FluidDrag
from ..potentials.goals import GoalDamping, GoalSprings, carried_masses
from ..potentials.ground import GroundPoints
from ..scene.collision_points import contact_distances
from ..scene.contact_settings import Collider, Contact, Sphere
from ..scene.forces import (
    OWN_NUMBERS,
    Accelerations,
    Drag,
    Fluid,
    ForceField,
    Pressure,
    TargetVolume,
    Wind,
)
from ..scene.friction import NO_FRICTION, FrictionTable
from ..scene.goals import GoalDampers, Goals
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..system import System, fill
from ..tracked import is_tracked, plain, refuse_tracked, tracked

#: The names of differentiable quantities in a scene.
_KNOWN = re.compile(
    r"gravity|ground\.(height|friction|kinetic_friction)|bodies\[\d+\]\.(density|velocity"
    r"|angular_velocity|initial_positions|initial_velocities|damping|stiffness_damping|viscosity|pin_path|friction"
    r"|kinetic_friction|accelerations|mesh\.vertices|plasticity\.\w+|rest_shape\.\w+|material\.young|material\.poisson|stiffness|pressure"
    r"|target_volume|drag|(skin\.)?goals\.(targets|frequency|weights))"
    r"|forces\[\d+\]\.(velocity|drag|strength|flow|damping|size|weight|origin|axis)"
    r"|contact\.(stiffness|distance|friction|kinetic_friction)"
    r"|colliders\[\d+\]\.(friction|kinetic_friction)"
)


def collect(scene: Scene) -> tuple[Scene, dict[str, Tensor]]:
    """The scene with numbers alone, and the tensors by where they stand in it, such as
    ``bodies[0].material.young``.

    Raises:
        SceneError: when one stands where nothing can be differentiated by.
    """
    leaves = _under("", tracked(scene))
    if scene.ground is not None:
        leaves |= _under("ground.", tracked(scene.ground))
    if scene.contact is not None:
        leaves |= _under("contact.", tracked(scene.contact))
    for index, collider in enumerate(scene.colliders):
        leaves |= _under(f"colliders[{index}].", tracked(collider))
    for index, force in enumerate(scene.forces):
        leaves |= _under(f"forces[{index}].", tracked(force))
    for index, absorber in enumerate(scene.absorbers):
        leaves |= _under(f"absorbers[{index}].", tracked(absorber))
    bodies = []
    for index, body in enumerate(scene.bodies):
        plain_body, tensors = _collect_body(body)
        leaves |= _under(f"bodies[{index}].", tensors)
        bodies.append(plain_body)
    for place, tensor in leaves.items():
        if not _KNOWN.fullmatch(place):
            refuse_tracked(tensor, place)
    plain_scene = copy(scene)
    plain_scene.bodies = bodies
    return plain_scene, leaves


def _collect_body(body: SoftBody) -> tuple[SoftBody, dict[str, Tensor]]:
    tensors, plain_body = tracked(body), copy(body)
    moduli = {name: getattr(body.material, name) for name in PARAMETERS}
    moduli = {name: value for name, value in moduli.items() if is_tracked(value)}
    tensors |= _under("material.", moduli)
    if moduli:
        numbers = {name: plain(value) for name, value in moduli.items()}
        plain_body.material = replace(body.material, **numbers)
    tensors |= _under("mesh.", tracked(body.mesh))
    tensors |= _under("plasticity.", tracked(body.plasticity))
    tensors |= _under("rest_shape.", tracked(body.rest_shape))
    tensors |= _under("goals.", tracked(body.goals))
    if body.skin is not None:
        tensors |= _under("skin.goals.", tracked(body.skin.goals))
        tensors |= _under("skin.rest_shape.", tracked(body.skin.rest_shape))
    return plain_body, tensors


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + name: tensor for name, tensor in tensors.items()}


#: The tensor in a place of a scene, or of the number that stands there.
Value = Callable[[str, Any], Tensor]


def barrier_tables(system: System, young: Tensor, value: Value) -> dict[str, Tensor]:
    """``contact stiffness`` κ and ``contact distance`` d̂, (O, O) of bodies, then mesh colliders.

    Args:
        system: with contact.
        young: (B,) means of Young's moduli, in pascals.
        value: of places of its scene.
    """
    scene = system.scene
    contact = scene.contact
    assert contact is not None
    distances = value("", contact_distances(scene))
    if contact.distance is not None:
        chosen = value("contact.distance", contact.distance)
        distances = torch.where(distances > 0.0, chosen, 0.0)
    if contact.stiffness is not None:
        stiffness = value("contact.stiffness", contact.stiffness).expand_as(distances)
    else:
        # As ``physical_stiffness``: a body and a collider have the body's.
        colliders = len(scene.meshes)
        first = torch.cat([young, young.new_zeros(colliders)])[:, None]
        both, either = first * first.T, torch.maximum(first, first.T)
        roots = torch.where(both > 0.0, both, 1.0).sqrt()
        stiffness = YOUNG_RATIO * torch.where(both > 0.0, roots, either)
    return {"contact stiffness": stiffness, "contact distance": distances}


def friction_tables(system: System, value: Value) -> tuple[Tensor, Tensor]:
    """(O, O) static and kinetic coefficients as ``FrictionTable`` has them: of bodies, mesh
    colliders, spheres, and the ground."""
    scene = system.scene
    owners: list[tuple[str, Any]] = [(f"bodies[{k}]", item) for k, item in enumerate(scene.bodies)]
    colliders = [(f"colliders[{k}]", item) for k, item in enumerate(scene.colliders)]
    for kind in (Collider, Sphere):
        owners += [pair for pair in colliders if isinstance(pair[1], kind)]
    if scene.ground is not None:
        owners.append(("ground", scene.ground))
    known = FrictionTable(scene)
    tables = []
    for table, slides in zip(known.all_pairs, (False, True), strict=True):
        coefficients = [_coefficient(*owner, slides, value) for owner in owners]
        default = _coefficient("contact", scene.contact or Contact(), slides, value)
        assert default is not None
        whole = _combined(coefficients, default)
        tables.append(torch.where(torch.as_tensor(known.is_named), value("", table), whole))
    static, kinetic = tables
    return static, torch.minimum(kinetic, static)


def _combined(coefficients: list[Tensor | None], default: Tensor) -> Tensor:
    """(O, O): the geometric mean, where both have one."""
    has = torch.tensor([coefficient is not None for coefficient in coefficients])
    values = torch.stack(
        [default if coefficient is None else coefficient for coefficient in coefficients]
    )
    first, second = (
        values[:, None].expand(len(coefficients), -1),
        values.expand(len(coefficients), -1),
    )
    roots = (first * second).clamp(min=NO_FRICTION).sqrt()
    means = torch.where(first == second, 0.5 * (first + second), roots)
    one = torch.where(has[:, None], first, second)
    return torch.where(has[:, None] & has, means, one)


def _coefficient(place: str, item: Any, slides: bool, value: Value) -> Tensor | None:
    member = "kinetic_friction" if slides and item.kinetic_friction is not None else "friction"
    coefficient = getattr(item, member)
    return None if coefficient is None else value(f"{place}.{member}", coefficient)


#: From the index of a body and its densities to the (n,) masses of its vertices.
Lumped = Callable[[int, Tensor], Tensor]

# The columns of the parameters of a wind and of a field, in their order, and how many each has.
_OF_WIND = {"velocity": 3, "drag": 1}
_OF_FIELD = {"origin": 3, "axis": 3} | dict.fromkeys(OWN_NUMBERS, 1)
_NUMBERS = {Pressure: "pressure", TargetVolume: "target_volume", Drag: "drag"}


class ForceQuantities:
    """Quantities of the forces of a system, as ``Quantities`` names them.

    Args:
        value, lumped: of the scene.
        mass: (N,) in kg.
        rest: (3, N) rest positions in metres.
    """

    def __init__(
        self, system: System, value: Value, lumped: Lumped, mass: Tensor, rest: Tensor
    ) -> None:
        self._system, self._value, self._lumped = system, value, lumped
        self._mass, self._rest = mass, rest

    def all(self) -> dict[str, Tensor]:
        """Return the quantities of all forces, each with the index of the force behind its name."""
        out: dict[str, Tensor] = {}
        for index, (owner, source) in enumerate(self._sources()):
            parts = self._of(index, owner, source)
            out |= {f"{name} {index}": part for name, part in parts.items()}
        return out

    def _sources(self) -> list[tuple[int, Any]]:
        """Return the source of each force, and the index of its body or among the forces of the
        scene."""
        bodies = list(enumerate(self._system.bodies))
        on_bodies: list[tuple[int, Any]] = [(k, each) for k, body in bodies for each in body.forces]
        scene_sources: list[tuple[int, Any]] = []
        for index, force in enumerate(self._system.scene.forces):
            # Buoyancy, and drag where there is any.
            count = 2 if isinstance(force, Fluid) and (force.drag or force.damping) else 1
            scene_sources += [(index, force)] * count
        return scene_sources + on_bodies

    def _of(self, index: int, owner: int, source: Any) -> dict[str, Tensor]:
        force, place = self._system.forces[index], f"bodies[{owner}]"
        if isinstance(force, (GoalSprings, GoalDamping)):
            return self._goals(force, owner, source)
        if isinstance(force, FluidDrag):
            return {}
        assert isinstance(force, PrescribedPotential)
        samples = force.channel.samples
        if isinstance(source, Accelerations):
            parameters = self._value(f"{place}.accelerations", source.channel.samples)
            parameters = parameters if parameters.ndim == 3 else parameters[None]
            return {"parameters": parameters.transpose(1, 2)}
        if type(source) in _NUMBERS:
            parameters = self._value(f"{place}.{_NUMBERS[type(source)]}", samples).reshape(-1)
            if isinstance(force, GasOfVolume):
                return {"parameters": parameters, "at rest": force.volume.of(self._rest)}
            masses = self._drag(owner, source) if isinstance(source, Drag) else {}
            return {"parameters": parameters} | masses
        if isinstance(source, (Wind, ForceField)):
            columns = _OF_WIND if isinstance(source, Wind) else _OF_FIELD
            parameters = self._with_columns(f"forces[{owner}]", samples, columns)
            return {"parameters": parameters, "masses": self._in_fields()}
        if isinstance(source, Fluid):
            gravity = self._value("gravity", self._system.gravity.samples).view(-1, 3)
            return {"parameters": source.density * (-gravity[:, 2]).clamp(min=0.0)}
        return {"parameters": samples}

    def _with_columns(self, place: str, samples: Tensor, columns: dict[str, int]) -> Tensor:
        """(T, k) parameters, with the columns that tensors replace."""
        parts, first, count = [], 0, len(samples)
        for name, width in columns.items():
            columns_of_name = samples[:, first : first + width]
            first += width
            values = self._value(f"{place}.{name}", columns_of_name).reshape(-1, width)
            # A channel keeps its last sample.
            samples_at = [min(t, len(values) - 1) for t in range(count)]
            parts.append(values[samples_at])
        return torch.cat([*parts, samples[:, first:]], dim=1)

    def _in_fields(self) -> Tensor:
        """(N,) masses as far as fields count for them."""
        pairs = zip(self._system.bodies, self._system.body_slices(), strict=True)
        weights = [(1.0 if b.field_weight is None else b.field_weight, where) for b, where in pairs]
        return torch.cat([weight * self._mass[where] for weight, where in weights])

    def _drag(self, body: int, drag: Drag) -> dict[str, Tensor]:
        owner, where = self._system.bodies[body], self._system.body_slices()[body]
        density = self._value(f"bodies[{body}].density", owner.density)
        factors = torch.as_tensor(np.asarray(drag.factors, dtype=np.float64)).to(density)
        before = self._mass.new_zeros(where.start)
        after = self._mass.new_zeros(len(self._mass) - where.stop)
        return {"masses": torch.cat([before, self._lumped(body, density * factors), after])}

    def _goals(
        self, force: GoalSprings | GoalDamping, body: int, source: Goals | GoalDampers
    ) -> dict[str, Tensor]:
        system, owner = self._system, self._system.bodies[body]
        goals = source.goals if isinstance(source, GoalDampers) else source
        place = f"bodies[{body}].goals" if owner.goals is goals else f"bodies[{body}].skin.goals"
        targets = self._value(f"{place}.targets", goals.targets.samples)
        targets = targets if targets.ndim == 3 else targets[None]
        # Proportional to the masses of the vertices, where points are such.
        vertices = force.goals.points.corners[0]
        masses = torch.as_tensor(carried_masses(system, body, goals)).to(self._mass)
        masses = masses * (self._mass[vertices] / system.mass[vertices])
        angular = 2.0 * math.pi * self._value(f"{place}.frequency", goals.frequency)
        weights = self._value(f"{place}.weights", goals.weights)
        stiffness = weights * masses * angular**2
        # The root of a weight of zero has no derivative.
        tiny = torch.finfo(masses.dtype).tiny
        dashpots = 2.0 * goals.damping_ratio * (stiffness * masses).clamp(min=tiny).sqrt()
        return {"stiffness": stiffness, "dashpots": dashpots, "targets": targets.transpose(1, 2)}


class RestQuantities:
    """The quantities of rest shapes. If a rest shape requires grad, they follow the formulas of
    ``TetMesh``; else its numbers.

    Args:
        system: of the scene with numbers alone.
        value: of places of its scene.
    """

    def __init__(self, system: System, value: Value) -> None:
        self._meshes, self._bodies, self._value = system.meshes, system.bodies, value
        #: (n, 3) vertices of each body, in metres.
        self.vertices = [
            value(f"bodies[{index}].mesh.vertices", mesh.vertices)
            for index, mesh in enumerate(system.meshes)
        ]
        self._tets = [self._tet_shapes(index) for index in range(len(system.meshes))]

    @property
    def positions(self) -> Tensor:
        """Return the (3, N) rest positions of all vertices, in metres."""
        return torch.cat(self.vertices).T

    def at_start(self, body: int) -> Tensor:
        """Return the (n, 3) rest positions of a body's vertices at the start, in metres."""
        vertices, rest_shape = self.vertices[body], self._bodies[body].rest_shape
        if rest_shape is None:
            return vertices
        place = f"bodies[{body}].rest_shape"
        amounts = self._value(f"{place}.amounts", rest_shape.amounts.samples)
        moved = self._value(f"{place}.displacements", rest_shape.displacements)
        return vertices + torch.tensordot(amounts[0], moved, dims=1)

    def shapes_of_elasticity(self, index: int, members: list[int]) -> dict[str, Tensor]:
        """``volumes i`` and ``shape gradients i`` of the i-th elasticity, whose bodies these are;
        none where no rest shape requires grad."""
        if not any(self.vertices[k].requires_grad for k in members):
            return {}
        volumes, gradients = zip(*(self._tets[k] for k in members), strict=True)
        return {
            f"volumes {index}": torch.cat(volumes),
            f"shape gradients {index}": torch.cat(gradients, dim=2),
        }

    def over_time(self, index: int, part: Elasticity, body: int) -> dict[str, Tensor]:
        """``amounts i``, ``displacements i`` and ``modelled i`` of the i-th elasticity, which is of
        one body; none where its rest shape stays."""
        if part.rest_shape is None:
            return {}
        place, rest_shape = f"bodies[{body}].rest_shape", self._bodies[body].rest_shape
        assert rest_shape is not None
        return {
            f"amounts {index}": self._value(f"{place}.amounts", part.channel.samples[:, 1:]),
            f"displacements {index}": self._value(
                f"{place}.displacements", rest_shape.displacements
            ),
            f"modelled {index}": self.vertices[body],
        }

    def areas(self, body: int) -> Tensor:
        """(n,) around its vertices, in m², as ``CollisionPoints`` has them of tetrahedra."""
        mesh, vertices = self._meshes[body], self.vertices[body]
        surface = torch.as_tensor(mesh.surface.astype(np.int64))
        a, b, c = vertices[surface].unbind(1)
        thirds = torch.linalg.vector_norm(torch.linalg.cross(b - a, c - a), dim=1) / 6.0
        zeros = vertices.new_zeros(len(vertices))
        outside = zeros.index_add(0, surface.ravel(), thirds.repeat_interleave(3))
        quarters = self.material_volumes(body) / 4.0
        corners = torch.as_tensor(mesh.tets.astype(np.int64)).ravel()
        around = zeros.index_add(0, corners, quarters.repeat_interleave(4))
        return torch.where(outside > 0.0, outside, around ** (2.0 / 3.0))

    def diagonal(self, body: int) -> Tensor:
        """Return the diagonal of a body's bounding box, in metres."""
        vertices = self.vertices[body]
        return torch.linalg.vector_norm(vertices.amax(0) - vertices.amin(0))

    def material_volumes(self, body: int) -> Tensor:
        """Return the (M,) volumes of the material in a body's tets, in m³."""
        volumes, _ = self._tets[body]
        return volumes * volumes.new_tensor(fill(self._meshes[body]))

    def _tet_shapes(self, body: int) -> tuple[Tensor, Tensor]:
        """(M,) volumes, and (3, 3, M) gradients of the shape functions of corners 1 to 3."""
        mesh, vertices = self._meshes[body], self.vertices[body]
        if not vertices.requires_grad:
            gradients = mesh.shape_gradients[:, 1:].transpose(1, 2, 0)
            return vertices.new_tensor(mesh.rest_volumes), vertices.new_tensor(gradients)
        return tet_shapes(vertices, torch.as_tensor(mesh.tets.astype(np.int64)))


def tet_shapes(vertices: Tensor, tets: Tensor) -> tuple[Tensor, Tensor]:
    """(M,) volumes in m³, and (3, 3, M) gradients of the shape functions of corners 1 to 3, of
    (M, 4) tets whose (n, 3) vertices rest there."""
    # The coordinates first: passes over long rows are quick, and so is autograd's way back.
    first, *others = vertices.T.index_select(1, tets.T.reshape(-1)).view(3, 4, -1).unbind(1)
    edges = torch.stack([other - first for other in others], dim=1)
    gradients, determinants = inverses3(edges)
    return determinants / 6.0, gradients


def at_time(
    index: int, part: Elasticity, quantities: dict[str, Tensor], frame: int, fraction: float
) -> tuple[Tensor, Tensor]:
    """Return the shapes of the i-th elasticity, whose rest shape changes, a fraction of the way
    from a frame to the next, as ``tet_shapes`` does."""
    ((_, mesh),) = part.tets.meshes
    amounts = part.channel.with_samples(quantities[f"amounts {index}"]).at(frame, fraction)
    moved = torch.tensordot(amounts, quantities[f"displacements {index}"], dims=1)
    tets = torch.as_tensor(mesh.tets.astype(np.int64))
    return tet_shapes(quantities[f"modelled {index}"] + moved, tets)


#: The inputs of time steps by name: ``mass`` (N,), ``damping`` (N,) in 1/s, ``gravity`` (T, 3),
#: ``pins`` (T, 3, P), ``positions`` and ``velocities`` (3, N) at the start. The i-th elasticity
#: has Lamé's ``mu i`` and ``lam i`` (M,) and ``factor i`` (T,) on them; for rest shapes that
#: require grad ``volumes i`` (M,) and ``shape gradients i`` (3, 3, M); with plasticity ``flow i``
#: (5, M) in the order of ``TetFlow``; and for changing rest shapes ``amounts i`` (T, K),
#: ``displacements i`` (K, n, 3) and ``modelled i`` (n, 3). The i-th viscosity has ``shear i`` and
#: ``bulk i`` (M,), in Pa s, and ``viscous factor i`` (T,). The i-th force has ``stiffness i`` (P,)
#: in N/m, ``dashpots i`` (P,) in N s/m and ``targets i`` (T, 3, P) for goals, and ``parameters i``
#: (T, …) of its channel for others; forces by mass have ``masses i`` (N,), and a target volume has
#: ``at rest i`` in m³. The ground has ``height``, ``weights`` (S,) in N, ``static`` and
#: ``kinetic`` (S,), and ``diagonals`` (N,) of bodies. Contact has ``contact stiffness``, ``contact
#: distance``, ``contact static`` and ``contact kinetic``, (O, O) for every two objects.
#: Attachments have ``attached`` (A,) in N/m.
Quantities = dict[str, Tensor]

# The constants of a plasticity in the order of ``TetFlow``; and of a body without.
_PLASTIC = ("yield_stress", "hardening", "creep_time", "limit")
_ELASTIC: tuple[Any, ...] = (math.inf, 0.0, 0.0, math.inf)


class Derivation:
    """Takes quantities of a system from the tensors of its scene, by the formulas of ``System``.

    Args:
        system: of the scene with numbers alone.
        leaves: the tensors by their place in the scene.
    """

    def __init__(self, system: System, leaves: Mapping[str, Tensor]) -> None:
        self._system, self._leaves = system, leaves
        self._bodies = list(zip(system.bodies, system.meshes, strict=True))
        self._rest = RestQuantities(system, self._value)

    def quantities(self) -> Quantities:
        """Return all quantities; those without a tensor behind them do not require grad."""
        quantities = {"mass": self._mass(), "damping": self._damping()}
        quantities["gravity"] = self._value("gravity", self._system.gravity.samples).view(-1, 3)
        quantities |= self._pins()
        quantities |= self._start(quantities["mass"], quantities.get("pins"))
        for index, part in enumerate(self._system.elasticities):
            quantities |= self._moduli(index, part)
            quantities[f"factor {index}"] = self._factor(part)
            quantities |= self._rest.shapes_of_elasticity(index, self._members(part))
            quantities |= self._rest.over_time(index, part, self._members(part)[0])
            quantities |= self._flow(index, part, quantities[f"mu {index}"])
        quantities |= self._viscosities(quantities)
        forces = ForceQuantities(
            self._system, self._value, self._lumped, quantities["mass"], self._rest.positions
        )
        quantities |= forces.all()
        return quantities | self._ground() | self._contact() | self._attached()

    def _tensor(self, values: Any) -> Tensor:
        return torch.as_tensor(values, dtype=self._system.dtype)

    def _value(self, place: str, otherwise: Any) -> Tensor:
        leaf = self._leaves.get(place)
        return self._tensor(otherwise if leaf is None else leaf)

    def _member(self, index: int, member: str) -> Tensor:
        """A member of a body, or of one of its members."""
        owner: Any = self._system.bodies[index]
        for name in member.split("."):
            owner = getattr(owner, name)
        return self._value(f"bodies[{index}].{member}", owner)

    def _tet_values(self, indices: list[int], member: str) -> Tensor:
        """Return the (M,) values of a member on the tets of some bodies."""
        counts = [len(self._system.meshes[k].tets) for k in indices]
        return torch.cat(
            [self._member(k, member).expand(n) for k, n in zip(indices, counts, strict=True)]
        )

    def _vertex_values(self, values: list[Tensor]) -> Tensor:
        """Return (N,) values of vertices from one value a body."""
        return torch.cat(
            [v.expand(len(m.vertices)) for v, (_, m) in zip(values, self._bodies, strict=True)]
        )

    def _lumped(self, index: int, densities: Tensor) -> Tensor:
        mesh = self._system.meshes[index]
        quarters = densities * self._rest.material_volumes(index) / 4.0
        corners = torch.as_tensor(mesh.tets.astype(np.int64)).ravel()
        return quarters.new_zeros(len(mesh.vertices)).index_add(
            0, corners, quarters.repeat_interleave(4)
        )

    def _mass(self) -> Tensor:
        return torch.cat(
            [self._lumped(k, self._member(k, "density")) for k in range(len(self._bodies))]
        )

    def _damping(self) -> Tensor:
        rates = []
        for index, (_, mesh) in enumerate(self._bodies):
            rate, density = self._member(index, "damping"), self._member(index, "density")
            if rate.ndim:
                rate = self._lumped(index, density * rate) / self._lumped(index, density)
            rates.append(rate.expand(len(mesh.vertices)))
        return torch.cat(rates)

    def _pins(self) -> Quantities:
        pins = self._system.moving_pins
        if pins is None:
            return {}
        moving = [
            index
            for index, (body, _) in enumerate(self._bodies)
            if body.pinned is not None and body.pin_path is not None
        ]
        if not any(f"bodies[{index}].pin_path" in self._leaves for index in moving):
            return {"pins": pins.path.samples}
        paths = [
            self._samples(f"bodies[{k}].pin_path", self._bodies[k][0].pin_path) for k in moving
        ]
        length = max(len(path) for path in paths)
        longest = [path[[min(t, len(path) - 1) for t in range(length)]] for path in paths]
        return {"pins": torch.cat(longest, dim=1).transpose(1, 2)}

    def _samples(self, place: str, channel: Any) -> Tensor:
        """Return the (T, P, 3) samples of a channel, or of the tensor in its place."""
        values = self._value(place, channel.samples)
        return values if values.ndim == 3 else values[None]

    def _start(self, mass: Tensor, pins: Tensor | None) -> Quantities:
        system, positions, velocities = self._system, [], []
        offset = 0
        for index, (body, where) in enumerate(
            zip(system.bodies, system.body_slices(), strict=True)
        ):
            start = self._rest.at_start(index)
            if body.initial_positions is not None:
                start = self._member(index, "initial_positions")
            if body.pinned is not None and body.pin_path is not None and pins is not None:
                pinned = torch.as_tensor(body.pinned.astype(np.int64))
                path = pins[0, :, offset : offset + len(pinned)].T
                start, offset = start.index_copy(0, pinned, path), offset + len(pinned)
            masses = mass[where]
            arms = start - masses @ start / masses.sum()
            spin = self._member(index, "angular_velocity").expand_as(arms)
            moving = self._member(index, "velocity") + torch.linalg.cross(spin, arms)
            if body.initial_velocities is not None:
                moving = moving + self._member(index, "initial_velocities")
            velocities.append(moving)
            positions.append(start)
        whole = torch.cat(velocities).T * system.free
        return {"positions": torch.cat(positions).T, "velocities": whole}

    def _members(self, part: Elasticity) -> list[int]:
        """The bodies of an elasticity."""
        offsets = self._system.vertex_offsets
        return [offsets.index(first) for first, _ in part.tets.meshes]

    def _moduli(self, index: int, part: Elasticity) -> Quantities:
        members = self._members(part)
        filled = np.concatenate([fill(self._system.meshes[k]) for k in members])
        solid = replace(
            part.material,
            young=self._tet_values(members, "material.young") * self._tensor(filled),
            poisson=self._tet_values(members, "material.poisson"),
        )
        return {f"mu {index}": solid.mu, f"lam {index}": solid.lam}

    def _flow(self, index: int, part: Elasticity, mu: Tensor) -> Quantities:
        """As ``TetFlow`` takes them."""
        members, rows = self._members(part), []
        if all(self._system.bodies[k].plasticity is None for k in members):
            return {}
        for k in members:
            filled, numbers = self._tensor(fill(self._system.meshes[k])), list(_ELASTIC)
            if self._system.bodies[k].plasticity is not None:
                numbers = [self._member(k, f"plasticity.{name}") for name in _PLASTIC]
            parameters = [self._tensor(number).expand(len(filled)) for number in numbers]
            rows.append(
                torch.stack([parameters[0] * filled, parameters[1] * filled, *parameters[2:]])
            )
        return {f"flow {index}": torch.cat([mu[None], torch.cat(rows, dim=1)])}

    def _factor(self, part: Elasticity) -> Tensor:
        """Return the (T,) factors on the stiffness."""
        index, samples = self._members(part)[0], part.channel.samples
        if part.rest_shape is not None:
            samples = samples[:, 0]
        if self._system.bodies[index].stiffness is None:
            return samples
        return self._value(f"bodies[{index}].stiffness", samples).reshape(-1)

    def _viscosities(self, quantities: Quantities) -> Quantities:
        """As ``TetEnergies`` makes them, in the same order."""
        system, out, count = self._system, {}, 0
        for index, part in enumerate(system.elasticities):
            members = self._members(part)
            if not any(system.bodies[k].is_viscous for k in members):
                continue
            mu, lam = quantities[f"mu {index}"], quantities[f"lam {index}"]
            rates = self._tet_values(members, "stiffness_damping")
            filled = np.concatenate([fill(system.meshes[k]) for k in members])
            shears = self._tensor(filled) * self._tet_values(members, "viscosity")
            one = torch.ones(1, dtype=mu.dtype)
            parts = [(rates * mu + shears, rates * lam, one)]
            if system.bodies[members[0]].stiffness is not None:
                parts = [
                    (rates * mu, rates * lam, quantities[f"factor {index}"]),
                    (shears, torch.zeros_like(shears), one),
                ]
            for shear, bulk, factor in parts:
                out[f"shear {count}"], out[f"bulk {count}"] = shear, bulk
                out[f"viscous factor {count}"] = factor
                count += 1
        return out

    def _ground(self) -> Quantities:
        system, barrier = self._system, self._system.ground_barrier
        ground = system.scene.ground
        if barrier is None or ground is None:
            return {}
        young = self._vertex_values(self._mean_young)
        stiffness = BARRIER_STIFFNESS_RATIO * barrier.points.from_bodies(young)
        out = {
            "height": self._value("ground.height", ground.height),
            "weights": stiffness * self._areas(barrier.points),
            "diagonals": self._vertex_values(
                [self._rest.diagonal(k) for k in range(len(self._bodies))]
            ),
        }
        for name, table in zip(("static", "kinetic"), self._frictions, strict=True):
            coefficients = [table[k, -1] for k in range(len(self._bodies))]
            rows = barrier.points.from_bodies(self._vertex_values(coefficients))
            out[name] = rows * system.obstacles.friction_shares
        return out

    def _areas(self, points: GroundPoints) -> Tensor:
        """(S,) around the ground's points; surfaces that are seen keep theirs."""
        areas = points.from_bodies(
            torch.cat([self._rest.areas(k) for k in range(len(self._bodies))])
        )
        seen = [torch.tensor(body.seen_surface is not None) for body in self._system.bodies]
        known = self._tensor(self._system.obstacles.areas)
        return torch.where(points.from_bodies(self._vertex_values(seen)), known, areas)

    def _contact(self) -> Quantities:
        if self._system.scene.contact is None:
            return {}
        count = len(self._bodies) + len(self._system.scene.meshes)
        static, kinetic = (table[:count, :count] for table in self._frictions)
        tables = barrier_tables(self._system, torch.stack(self._mean_young), self._value)
        return tables | {"contact static": static, "contact kinetic": kinetic}

    def _attached(self) -> Quantities:
        """As ``Attachments.from_scene`` finds the stiffness."""
        system = self._system
        if not system.scene.attaches_bodies:
            return {}
        attached, around = attached_vertices(system.scene, system.vertex_offsets), []
        for index, (_, mesh) in enumerate(self._bodies):
            young, corners = self._member(index, "material.young"), self._tensor(mesh.tets.ravel())
            edges = self._tensor(mesh.mean_edges)
            sums = edges.new_zeros(len(mesh.vertices))
            whole = sums.index_add(0, corners.long(), (young * edges).repeat_interleave(4))
            around.append(whole / torch.bincount(corners.long()))
        around_vertices = torch.cat(around)
        around_anchors = around_vertices[torch.as_tensor(attached.corners)].mean(1)
        stiffness = torch.maximum(
            around_vertices[torch.as_tensor(attached.vertices)], around_anchors
        )
        return {"attached": STIFFNESS_FACTOR * stiffness}

    @property
    def _mean_young(self) -> list[Tensor]:
        """Return the mean Young's modulus of each body, in pascal."""
        return [self._member(k, "material.young").mean() for k in range(len(self._bodies))]

    @cached_property
    def _frictions(self) -> tuple[Tensor, Tensor]:
        return friction_tables(self._system, self._value)
