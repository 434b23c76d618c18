# SPDX-License-Identifier: GPL-3.0-or-later
"""One body that is simulated: a plain description, checked when it is made, and its positions and
velocities at the start. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import Embedding
from ..geometry.tet_mesh import TetMesh
from ..materials import Linear, Material, StableNeoHookean
from ..materials.material import PARAMETERS
from ..tracked import tracks_tensors
from . import channel, checks
from .channel import Channel
from .checks import Vector
from .contact_settings import ContactSurface, TouchingChoice, check_friction
from .forces import Accelerations, BodyForce, Drag, Pressure, TargetVolume
from .goals import GoalDampers, Goals, Support
from .paint import SurfacePaint
from .rest_shape import Plasticity, RestShape, TetControl, TetRestShape
from .schema import IF_THERE, check_kinds
from .skin import Skin, SurfaceMesh, checked_pins
from .start import PosedStart, RunStart
from .stitches import Release

#: A number for a uniform body, or (M,) one value a tet.
PerTet = float | NDArray[np.float64]

# The lower limits of members: the name, the allowed values, and an example.
_LEAST = {
    "density": ("density must be above 0 kg/m³", "; water has 1000"),
    "damping": ("damping must be 0 or more per second", ""),
    "stiffness_damping": ("stiffness damping must be 0 s or more", "; soft rubber has about 0.002"),
    "viscosity": ("viscosity must be 0 Pa s or more", "; honey has about 10"),
    "loss_factor": ("loss factor must be 0 or more", "; soft rubber has about 0.1"),
    "drag_factors": ("factors on the drag must be 0 or more", ""),
}


@tracks_tensors
@dataclass(eq=False)
class SoftBody:
    """An elastic solid.

    Args:
        mesh: its tetrahedra at rest, or a surface that is to be filled with them.
        material: the constitutive model and its stiffness.
        density: in kg/m³. It, the three dampings and the loss factor are numbers, or have one value
            a tet, (M,).
        pinned: indices of mesh vertices whose motion is prescribed.
        velocity: of every vertex at the start, in m/s.
        angular_velocity: at the start, in rad/s, about the centre of mass.
        initial_positions: (N, 3) start shape in metres, when it is not the rest shape.
        damping: rate at which velocities decay, in 1/s, for any time step (Rayleigh's α). It is
            proportional to mass: a body that falls or turns is slowed like one that wobbles. It
            acts on the motion relative to the pins and goals that carry the material, if any move.
        stiffness_damping: Rayleigh's β in seconds, ≥ 0. Each deformation is resisted by β times its
            stiffness times its rate, so that a vibration of angular frequency ω has the damping
            ratio βω/2; rigid motion is untouched.
        viscosity: shear viscosity η of the solid in Pa s, ≥ 0, beside its elasticity (a
            Kelvin–Voigt solid). With the Green strain E the two add the second Piola–Kirchhoff
            stress 2(βμ + η) dE/dt + βλ tr(dE/dt) I.
        pin_path: channel of the (P, 3) positions of the pinned vertices, or its (T, P, 3) samples.
        skin: points that follow the body.
        friction: static Coulomb coefficient; None is that of the other surface.
        kinetic_friction: once it slides; None is the static one.
        touching: the collision surface of a body made of a surface: the visible ``mesh``, the
            boundary of its ``tetrahedra``, or ``automatic``, the mesh if possible.
        contact_surface: the surface that collides; None is the boundary of the tetrahedra.
        seen_surface: the surface that collides with the ground and spheres; None is the vertices
            of the tetrahedra.
        self_contact: whether it touches itself, where the contact has bodies do.
        field_weight: a factor on the scene's force fields and wind; None is all.
        name: the name in messages.
        plasticity: when it gives way for good; None is never.
        stiffness: channel of a factor on Young's modulus, or its (T,) samples; None is 1. Energy
            that it puts in comes from outside.
        pressure: p in Pa, above 0 inflating, of the gas in its hollows, or, where it has none, as
            if all of it were gas; where it changes a channel, or its (T,) samples.
        target_volume: of that gas, a factor on the volume that it has in the modelled shape, above
            0, or its channel or (T,) samples; None is any.
        volume_stiffness: in Pa, above 0: the pressure on each whole of the modelled volume by which
            the gas is below its target volume.
        goals: of tet vertices; those of the skin count beside them.
        friction_paint: factors on its friction, static and kinetic, from place to place.
        drag: rate in 1/s at which velocities decay besides; where it changes a channel, or its
            (T,) samples.
        drag_factors: on the drag, a number or (M,) one a tet.
        rest_shape: of tet vertices, where it changes over time; None is that of the mesh. Masses
            stay, and energy that it puts in comes from outside. Without ``initial_positions`` the
            body starts in it.
        release: when its pins and goals let go; None is never.
        initial_velocities: (N, 3) at the start, in m/s, beside the two above.
        start: of the skin, or as another run left it, until there are tetrahedra to place.
        pose: channel of (N, 3) tet vertices in metres, or its (T, N, 3) samples: the stress-free
            shape of the tets, in which the weight is borne, so that the body does not leave it by
            itself; None is the modelled mesh, on which the weight acts. Goals that are
            ``sag_free`` make it.
        tet_rest_shape: of the tetrahedra that are to fill it, which start so; None is the same.
        accelerations: channel of (N, 3) m/s² of tet vertices, or (T, N, 3), by forces besides.
        tet_control: that of the tetrahedra that are to fill it, or a motion of their pins.
        starts_settled: whether ``settle_start`` puts it to rest where it begins on something.
        loss_factor: tan δ of its slowest elastic vibration, ≥ 0: a free wobble keeps exp(−π tan δ)
            of its height from swing to swing. ``prepare`` turns it into viscosity. See
            ``materials.bounce.bounciness``.
    """

    mesh: TetMesh | SurfaceMesh
    material: Material = field(default_factory=StableNeoHookean)
    density: PerTet = 1000.0
    pinned: NDArray[np.int32] | None = None
    velocity: Vector = (0.0, 0.0, 0.0)
    initial_positions: NDArray[np.float64] | None = None
    damping: PerTet = 0.0
    stiffness_damping: PerTet = 0.0
    viscosity: PerTet = 0.0
    pin_path: Channel | None = None
    skin: Skin | None = None
    friction: float | None = None
    kinetic_friction: float | None = None
    touching: TouchingChoice = "automatic"
    contact_surface: ContactSurface | None = None
    seen_surface: ContactSurface | None = None
    self_contact: bool = True
    field_weight: float | None = field(default=None, metadata={IF_THERE: True})
    name: str = "Soft body"
    plasticity: Plasticity | None = field(default=None, metadata={IF_THERE: True})
    stiffness: Channel | None = field(default=None, metadata={IF_THERE: True})
    pressure: Channel | float = field(default=0.0, metadata={IF_THERE: True})
    angular_velocity: Vector = field(default=(0.0, 0.0, 0.0), metadata={IF_THERE: True})
    goals: Goals | None = field(default=None, metadata={IF_THERE: True})
    friction_paint: SurfacePaint | None = field(default=None, metadata={IF_THERE: True})
    drag: Channel | float = field(default=0.0, metadata={IF_THERE: True})
    drag_factors: PerTet = field(default=1.0, metadata={IF_THERE: True})
    rest_shape: RestShape | None = field(default=None, metadata={IF_THERE: True})
    target_volume: Channel | float | None = field(default=None, metadata={IF_THERE: True})
    volume_stiffness: float = field(default=1e5, metadata={IF_THERE: True})
    release: Release | None = field(default=None, metadata={IF_THERE: True})
    initial_velocities: NDArray[np.float64] | None = field(default=None, metadata={IF_THERE: True})
    start: PosedStart | RunStart | None = field(default=None, metadata={IF_THERE: True})
    pose: Channel | None = field(default=None, metadata={IF_THERE: True})
    tet_rest_shape: TetRestShape | None = field(default=None, metadata={IF_THERE: True})
    accelerations: Channel | None = field(default=None, metadata={IF_THERE: True})
    tet_control: TetControl | None = field(default=None, metadata={IF_THERE: True})
    starts_settled: bool = field(default=False, metadata={IF_THERE: True})
    loss_factor: PerTet = field(default=0.0, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        check_kinds(self, self.name)
        self._check_values()
        self._check_start()
        if self.plasticity is not None and self.changes_rest_shape:
            raise SceneError(
                f"{self.name}: a rest shape that changes over time excludes plasticity. Leave one "
                "of them out."
            )
        if self.plasticity is not None and isinstance(self.material, Linear):
            raise SceneError(
                f"{self.name}: the linear model has a constant matrix and cannot be plastic. "
                "Choose another model, or leave the plasticity out."
            )
        self._check_pose()
        if self.field_weight is not None:
            checks.at_least_zero(self.field_weight, f"{self.name}: the weight of force fields")
        if self.stiffness is not None:
            what = f"{self.name}: the factor on the stiffness (Young's modulus)"
            self.stiffness = channel.above_zero(self.stiffness, what)
        check_friction(self.name, self.friction, self.kinetic_friction)
        checks.choice(self.touching, TouchingChoice, f"{self.name}: the contact surface")
        self.velocity = checks.vector(self.velocity, f"{self.name}: the velocity")
        what = f"{self.name}: the angular velocity"
        self.angular_velocity = checks.vector(self.angular_velocity, what)
        self.pressure = channel.number(self.pressure, f"{self.name}: the pressure")
        self.drag = channel.number(self.drag, f"{self.name}: the drag per second", least=0.0)
        what = f"{self.name}: the stiffness of its volume, in Pa,"
        checks.above_zero(self.volume_stiffness, what)
        if self.target_volume is not None:
            self._check_target_volume(self.target_volume)
        if isinstance(self.mesh, TetMesh):
            self._check_vertices(self.mesh)
            self._check_lengths(len(self.mesh.tets))
            return
        self._check_lengths(None)
        self.mesh.check(self.name, self.plasticity is not None)
        vertex_settings = (
            self.pinned,
            self.pin_path,
            self.initial_positions,
            self.initial_velocities,
        )
        other_settings = self.goals, self.rest_shape, self.accelerations
        if any(value is not None for value in (*vertex_settings, *other_settings)):
            raise SceneError(
                f"{self.name}: a surface has no tet vertices yet to pin, place, reshape or draw to "
                "goals; take points of its skin, or tetrahedralize first."
            )

    @property
    def forces(self) -> list[BodyForce]:
        """Return the forces that act on this body alone."""
        skins = None if self.skin is None else self.skin.goals
        forces: list[BodyForce] = []
        for goals in (self.goals, skins):
            if goals is not None:
                forces += [goals, GoalDampers(goals)] if goals.damping_ratio else [goals]
        if self.pose is not None:
            forces.append(Support())
        if self.has_pressure:
            forces.append(Pressure(Channel.of(self.pressure, "The pressure")))
        if isinstance(self.drag, Channel) or self.drag > 0.0:
            forces.append(Drag(Channel.of(self.drag, "The drag"), self.drag_factors))
        if self.target_volume is not None:
            factors = Channel.of(self.target_volume, "The target volume")
            forces.append(TargetVolume(factors, self.volume_stiffness))
        if self.accelerations is not None:
            forces.append(Accelerations(self.accelerations))
        return forces

    @property
    def has_gas(self) -> bool:
        """Whether gas may burst the body."""
        return self.has_pressure or self.target_volume is not None

    @property
    def changes_rest_shape(self) -> bool:
        """Whether the rest shape changes over time, on the skin or the tetrahedra."""
        on_skin = self.skin is not None and self.skin.rest_shape is not None
        return on_skin or self.rest_shape is not None

    @property
    def is_sag_free(self) -> bool:
        """Whether the body is at rest where an animation has it."""
        skins = None if self.skin is None else self.skin.goals
        has_sag_free_goals = any(
            goals is not None and goals.sag_free for goals in (self.goals, skins)
        )
        return self.pose is not None or has_sag_free_goals

    @property
    def has_pressure(self) -> bool:
        """Whether there is gas inside at any time."""
        return isinstance(self.pressure, Channel) or self.pressure != 0.0

    @property
    def is_viscous(self) -> bool:
        """Whether any part of the body resists the rate of a deformation."""
        kinds = self.stiffness_damping, self.viscosity, self.loss_factor
        return any(bool(np.any(kind)) for kind in kinds)

    def _check_target_volume(self, value: Channel | float) -> None:
        what = f"{self.name}: the target volume"
        checked = channel.above_zero(value, what, "; 1 is the volume as it was modelled")
        self.target_volume = channel.number(checked, what)

    def _check_pose(self) -> None:
        if not self.is_sag_free:
            return
        for name, value in (
            ("the linear model, which has a constant matrix", isinstance(self.material, Linear)),
            ("plasticity", self.plasticity is not None),
            ("a stiffness that changes", self.stiffness is not None),
            ("a rest shape of its own", self.changes_rest_shape or self.tet_rest_shape is not None),
        ):
            if value:
                raise SceneError(
                    f"{self.name}: sag-free goals (jiggle) do not work with {name}. Leave one of "
                    "them out."
                )
        if self.pose is not None and isinstance(self.mesh, TetMesh):
            count = len(self.mesh.vertices)
            self.pose = Channel.of(self.pose, f"{self.name}: the pose", count, 3)

    def _check_values(self) -> None:
        for name, (least, example) in _LEAST.items():
            value = getattr(self, name)
            values = checks.numbers(value, f"{self.name}: the {name.replace('_', ' ')}")
            if values.ndim:
                setattr(self, name, np.ascontiguousarray(values))
            enough = values > 0.0 if name == "density" else values >= 0.0
            wrong = values[~(enough & np.isfinite(values))]
            if wrong.size:
                raise SceneError(f"{self.name}: the {least}, not {wrong.flat[0]:g}{example}.")

    def _check_vertices(self, mesh: TetMesh) -> None:
        count = len(mesh.vertices)
        what = f"{self.name}: the pin path"
        self.pinned, self.pin_path = checked_pins(self.pinned, self.pin_path, count, what)
        if self.goals is not None:
            self.goals.check(count, self.name)
            if self.goals.falloff_depth is not None:
                raise SceneError(
                    f"{self.name}: goals of tet vertices have weights of their own for the depth; "
                    "give the falloff to those of a skin."
                )
        if self.rest_shape is not None:
            self.rest_shape.check(count, self.name)
        if self.pinned is not None and len(self.pinned) == count:
            raise SceneError(
                f"{self.name}: every vertex is pinned, so nothing can move; "
                "pin fewer, or use a finer resolution."
            )
        if self.accelerations is not None:
            what = f"{self.name}: the accelerations"
            self.accelerations = Channel.of(self.accelerations, what, count, 3)
        self.initial_positions = self._vertex_values(self.initial_positions, "start shape", count)
        self.initial_velocities = self._vertex_values(
            self.initial_velocities, "field of velocities at the start", count
        )

    def _vertex_values(
        self, vertex_values: NDArray[np.float64] | None, what: str, count: int
    ) -> NDArray[np.float64] | None:
        if vertex_values is None:
            return None
        values = checks.positions(vertex_values, f"{self.name}: the {what}")
        if len(values) != count:
            raise SceneError(
                f"{self.name}: the {what} has {len(values)} vertices, the mesh {count}."
            )
        return values

    def _check_start(self) -> None:
        """Check the shape that the body starts in."""
        if isinstance(self.start, PosedStart):
            if self.skin is None:
                raise SceneError(f"{self.name}: it has no skin that could be posed; give it one.")
            self.start.check(len(self.skin.points), self.name)
        if self.start is not None and self.initial_positions is not None:
            raise SceneError(f"{self.name}: it has two start shapes; keep one of them.")

    def _check_lengths(self, tets: int | None) -> None:
        """Check settings that may have one value a tet; ``tets`` is None where there are no tets
        yet."""
        material = [(f"material's {name}", getattr(self.material, name)) for name in PARAMETERS]
        settings = [(name.replace("_", " "), getattr(self, name)) for name in _LEAST]
        if self.plasticity is not None:
            settings.append(("yield stress", self.plasticity.yield_stress))
        for name, value in material + settings:
            shape = np.shape(value)
            if shape == () or shape == (tets,):
                continue
            if tets is None:
                raise SceneError(
                    f"{self.name}: a surface has no tets yet in which the {name} could differ. "
                    "Give one number and paint the surface, or tetrahedralize first."
                )
            raise SceneError(
                f"{self.name}: the {name} has the shape {shape}, but there are {tets} tets; give "
                "one number, or one a tet."
            )


def burst_warning(bodies: Sequence[SoftBody]) -> str:
    """Return a sentence on bodies with gas inside for messages on divergence; empty without
    any."""
    names = ", ".join(body.name for body in bodies if body.has_gas)
    if not names:
        return ""
    return f" The pressure inside {names} may have burst the walls. Lower it."


def tet_mesh_of(body: SoftBody) -> TetMesh:
    """Its tetrahedra.

    Raises:
        SceneError: when it is still a surface.
    """
    if not isinstance(body.mesh, TetMesh):
        raise SceneError(f"{body.name} has no tetrahedra; tetrahedralize the scene first.")
    return body.mesh


def skin_embedding_of(body: SoftBody) -> Embedding:
    """The points of its skin in its tetrahedra.

    Raises:
        SceneError: when it has no skin, or that is not embedded yet.
    """
    if body.skin is None or body.skin.embedding is None:
        raise SceneError(
            f"{body.name}: its skin is not embedded in its tetrahedra; tetrahedralize the scene "
            "first."
        )
    return body.skin.embedding


def start_positions(body: SoftBody) -> NDArray[np.float64]:
    """(N, 3) tet vertices at the start, in metres: in their pose where they have one, moving pins
    where their path begins.

    Raises:
        SceneError: when the body has no tetrahedra.
    """
    mesh, placed = tet_mesh_of(body), body.initial_positions
    if placed is None:
        placed = _rest_at_start(body, mesh) if body.pose is None else body.pose.at(0)
    start = placed.copy()
    if body.pinned is not None and body.pin_path is not None:
        start[body.pinned] = body.pin_path.at(0)
    return start


def _rest_at_start(body: SoftBody, mesh: TetMesh) -> NDArray[np.float64]:
    return mesh.vertices if body.rest_shape is None else body.rest_shape.at_start(mesh.vertices)


def start_velocities(body: SoftBody, frame_time: float) -> NDArray[np.float64]:
    """Return the (N, 3) velocities of a body that has tetrahedra, in m/s: the sum of its rigid
    motion, the motion of its pose, and each vertex's velocity; its first frame takes
    ``frame_time`` seconds."""
    start, mass = start_positions(body), tet_mesh_of(body).lumped_mass(body.density)
    arms = start - mass @ start / mass.sum()
    velocities: NDArray[np.float64] = body.velocity + np.cross(body.angular_velocity, arms)
    if (pose := body.pose) is not None and not pose.is_constant:
        velocities += (pose.samples[1] - pose.samples[0]) * (pose.per_frame / frame_time)
    initial = body.initial_velocities
    return velocities if initial is None else velocities + initial
