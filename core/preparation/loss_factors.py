# SPDX-License-Identifier: GPL-3.0-or-later
"""Loss factors of bodies, and the viscosity that gives each of them to the slowest vibration.

A Kelvin–Voigt solid with the shear modulus μ and the viscosity η = μ tan δ / ω has the loss factor
tan δ at the angular frequency ω, and one in proportion to the frequency at others. ω is the
frequency of the slowest elastic vibration of the pinned body about its rest shape.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator, lobpcg, splu

from ..geometry.groups import components, equal_rows
from ..geometry.tet_mesh import FACES, TetMesh
from ..scene.scene import Scene
from ..scene.soft_body import PerTet, SoftBody

FloatArray = NDArray[np.float64]

# The most unknowns of a dense problem.
_DENSE_UNKNOWNS = 400
# Vibrations that are sought together: a cube or a ball has up to five of one frequency.
_BLOCK_SIZE = 6
# Iterations after which beams, plates and balls of up to 40 K tets are within 3 % of the frequency,
# also where they nearly keep their volume.
_ITERATIONS = 25
# Boxes of the coarse space; their rigid motions remove the smooth part of the residual.
_COARSE_BOXES = 60
# The shift relative to the diagonal of the coarse matrix, which is singular for a free body.
_COARSE_SHIFT = 1e-6
# The least singular value of rigid motions that move pinned vertices, relative to the largest.
_HINGE_RATIO = 1e-6
# The rounding of volumes of two equal meshes.
_ALIKE_RATIO = 1e-6


@dataclass(frozen=True)
class Vibration:
    """The slowest elastic vibration of a body.

    Args:
        frequency: in Hz; infinite where nothing can vibrate.
        shear_share: the share of its elastic energy in the term of μ, which viscosity damps.
    """

    frequency: float
    shear_share: float


def with_viscosities(scene: Scene) -> Scene:
    """The same scene, with viscosities in place of the loss factors of its bodies.

    Args:
        scene: a scene with tetrahedra in all bodies.
    """
    done: list[tuple[SoftBody, Vibration]] = []
    bodies = []
    for body in scene.bodies:
        if np.any(body.loss_factor):
            alike = (known for other, known in done if _are_copies(body, other))
            vibration = next(alike, None) or slowest_vibration(body)
            done.append((body, vibration))
            body = _with_viscosity(body, vibration)
        bodies.append(body)
    return replace(scene, bodies=bodies)


def _with_viscosity(body: SoftBody, vibration: Vibration) -> SoftBody:
    rate = 2.0 * np.pi * vibration.frequency * vibration.shear_share
    added = _start_stiffness(body) * body.material.mu * body.loss_factor / rate
    viscosity: PerTet = np.add(body.viscosity, added)
    viscosity = viscosity if np.ndim(viscosity) else float(viscosity)
    return replace(body, viscosity=viscosity, loss_factor=0.0)


def _are_copies(body: SoftBody, other: SoftBody) -> bool:
    """Whether one body is a copy of another, up to where it stands."""
    mine, its = body.mesh, other.mesh
    assert isinstance(mine, TetMesh) and isinstance(its, TetMesh)
    if not np.array_equal(mine.tets, its.tets):
        return False
    pairs = [
        (body.material.young, other.material.young),
        (body.material.poisson, other.material.poisson),
        (body.density, other.density),
        (_pins(body), _pins(other)),
        (_start_stiffness(body), _start_stiffness(other)),
    ]
    volumes = mine.material_volumes, its.material_volumes
    return np.allclose(*volumes, rtol=_ALIKE_RATIO, atol=0.0) and all(
        np.array_equal(*pair) for pair in pairs
    )


def slowest_vibration(body: SoftBody) -> Vibration:
    """Find the slowest elastic vibration of a body about its rest shape.

    Pinned vertices stand still; motions that deform nothing, such as those of a free body or about
    a hinge, are left out. For a body in several pieces the heaviest one counts. Goals,
    attachments, contact and gravity have no part.

    Source: LOBPCG, Knyazev, "Toward the Optimal Preconditioned Eigensolver", SIAM Journal on
    Scientific Computing 23, 2001, preconditioned by the diagonal and the rigid motions of boxes.

    Args:
        body: with tetrahedra.
    """
    piece = _heaviest_piece(body)
    if piece is None:
        return Vibration(np.inf, 1.0)
    points, shear, bulk, mass, motions = piece
    scale = diags_array(1.0 / np.sqrt(mass))
    stiffness = csr_array(scale @ (shear + bulk) @ scale)
    rigid = np.linalg.qr(motions * np.sqrt(mass)[:, None])[0]
    if len(mass) - rigid.shape[1] <= 0:
        return Vibration(np.inf, 1.0)
    square, mode = _lowest(stiffness, rigid, points, mass)
    share = float(mode @ (scale @ shear @ scale @ mode)) / square
    return Vibration(float(np.sqrt(square) / (2.0 * np.pi)), share)


def _lowest(
    stiffness: csr_array, rigid: FloatArray, points: FloatArray, mass: FloatArray
) -> tuple[float, FloatArray]:
    """The lowest eigenvalue of a matrix beyond the rigid motions, and its vector of length 1.

    Args:
        stiffness: (3n, 3n), symmetric, in 1/s².
        rigid: (3n, k) orthonormal vectors of its null space.
        points: (n, 3) in metres.
        mass: (3n,) in kg.
    """
    if len(mass) <= _DENSE_UNKNOWNS:
        dense = stiffness.toarray() + stiffness.diagonal().sum() * (rigid @ rigid.T)
        squares, modes = np.linalg.eigh(dense)
        return float(squares[0]), modes[:, 0]
    coarse = _coarse_motions(points) * np.sqrt(mass)[:, None]
    reduced = csr_array(coarse.T @ (stiffness @ coarse))
    shift = _COARSE_SHIFT * np.maximum(reduced.diagonal(), _COARSE_SHIFT * reduced.max())
    factors = splu((reduced + diags_array(shift)).tocsc())
    inverse = 1.0 / stiffness.diagonal()[:, None]

    def precondition(residuals: FloatArray) -> FloatArray:
        smooth: FloatArray = coarse @ factors.solve(coarse.T @ residuals)
        return inverse * residuals + smooth

    operator: Any = LinearOperator(
        stiffness.shape,
        matvec=lambda residual: precondition(residual.reshape(-1, 1)).ravel(),
        matmat=precondition,
        dtype=np.float64,
    )
    random = np.random.default_rng(0).standard_normal((len(mass), _BLOCK_SIZE))
    start = coarse @ factors.solve(coarse.T @ random)
    with warnings.catch_warnings():
        # It warns that it has not converged: a few per cent do.
        warnings.simplefilter("ignore")
        squares, modes = lobpcg(
            stiffness,
            start,
            M=operator,
            Y=rigid if rigid.shape[1] else None,
            largest=False,
            maxiter=_ITERATIONS,
        )
    first = int(np.argmin(squares))
    return float(squares[first]), modes[:, first]


def _heaviest_piece(
    body: SoftBody,
) -> tuple[FloatArray, csr_array, csr_array, FloatArray, FloatArray] | None:
    """The free vertices of the piece of a body that has the most mass to move.

    Returns:
        (n, 3) where they are, the (3n, 3n) parts of its stiffness by μ and by λ in N/m, (3n,)
        masses and (3n, k) rigid motions; None where all is pinned.
    """
    mesh = body.mesh
    assert isinstance(mesh, TetMesh)
    is_free = np.ones(len(mesh.vertices), dtype=bool)
    is_free[_pins(body)] = False
    tet_mass = np.broadcast_to(body.density * mesh.material_volumes, len(mesh.tets))
    piece = _pieces(mesh)
    moved = np.bincount(piece, tet_mass * is_free[mesh.tets].mean(axis=1))
    if not moved.max() > 0.0:
        return None
    tets = np.flatnonzero(piece == moved.argmax())
    corners = mesh.tets[tets]
    used, flat = np.unique(corners, return_inverse=True)
    corners = flat.reshape(corners.shape)
    mu, lam = (
        _start_stiffness(body) * np.broadcast_to(modulus, len(mesh.tets))[tets]
        for modulus in (body.material.mu, body.material.lam)
    )
    volumes = mesh.material_volumes[tets]
    strains = _strains(mesh.shape_gradients[tets], corners, len(used))
    traces = csr_array(strains[0::6] + strains[1::6] + strains[2::6])
    free = np.flatnonzero(np.repeat(is_free[used], 3))
    shear = (strains.T @ diags_array(np.repeat(2.0 * mu * volumes, 6)) @ strains).tocsr()
    bulk = (traces.T @ diags_array(lam * volumes) @ traces).tocsr()
    quarters = np.repeat(tet_mass[tets] / 4.0, 4)
    mass = np.bincount(corners.ravel(), quarters, len(used)).astype(np.float64)
    motions = _rigid_motions(mesh.vertices[used], is_free[used])
    return (
        mesh.vertices[used][is_free[used]],
        csr_array(shear[free][:, free]),
        csr_array(bulk[free][:, free]),
        np.repeat(mass, 3)[free],
        motions[free],
    )


def _pieces(mesh: TetMesh) -> NDArray[np.intp]:
    """(M,) the number of the piece that each tet is of; pieces share no faces."""
    faces = mesh.tets[:, FACES].reshape(-1, 3)
    order, starts = equal_rows(faces)
    shared = np.flatnonzero(np.diff(starts, append=len(order)) > 1)
    links = np.stack([order[starts[shared]], order[starts[shared] + 1]], axis=1) // len(FACES)
    return components(len(mesh.tets), links)


def _strains(gradients: FloatArray, corners: NDArray[np.intp], count: int) -> csr_array:
    """(6M, 3N) small strains of tets by displacements: xx, yy, zz, then √2 times yz, zx, xy."""
    rows, columns, values = [], [], []
    for row, terms in enumerate(
        (((0, 0),), ((1, 1),), ((2, 2),), ((1, 2), (2, 1)), ((2, 0), (0, 2)), ((0, 1), (1, 0)))
    ):
        for component, along in terms:
            rows.append(np.repeat(6 * np.arange(len(corners)) + row, 4))
            columns.append(3 * corners.ravel() + component)
            weight = 1.0 if component == along else np.sqrt(0.5)
            values.append(weight * gradients[:, :, along].ravel())
    triples = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(triples, (6 * len(corners), 3 * count))


def _rigid_motions(points: FloatArray, is_free: NDArray[np.bool_]) -> FloatArray:
    """(3N, k) rigid motions of (N, 3) points that leave those at rest that are not free."""
    arms = points - points.mean(axis=0)
    arms = arms / np.abs(arms).max()
    shifts = [np.broadcast_to(axis, points.shape) for axis in np.eye(3)]
    turns = [np.cross(axis, arms) for axis in np.eye(3)]
    motions = np.stack([motion.ravel() for motion in (*shifts, *turns)], axis=1)
    held = motions[np.repeat(~is_free, 3)]
    if len(held) == 0:
        return motions
    _, sizes, axes = np.linalg.svd(held.T @ held)
    # Squares of singular values.
    return motions @ axes[sizes <= _HINGE_RATIO**2 * sizes[0]].T


def _coarse_motions(points: FloatArray) -> csr_array:
    """(3n, 6B) the rigid motions of the points in each of some boxes."""
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    side = (np.maximum(span, 0.02 * span.max()).prod() / _COARSE_BOXES) ** (1.0 / 3.0)
    _, box = np.unique(np.floor((points - low) / side).astype(int), axis=0, return_inverse=True)
    box = box.ravel()
    sums = [np.bincount(box, points[:, axis]) for axis in range(3)]
    arms = (points - (np.stack(sums, axis=1) / np.bincount(box)[:, None])[box]) / side
    motions = np.zeros((len(points), 3, 6))
    motions[:, :, :3] = np.eye(3)
    for axis, unit in enumerate(np.eye(3)):
        motions[:, :, 3 + axis] = np.cross(unit, arms)
    rows = np.arange(3 * len(points)).repeat(6)
    columns = (6 * box.repeat(3)[:, None] + np.arange(6)).ravel()
    return csr_array((motions.ravel(), (rows, columns)), (3 * len(points), 6 * (box.max() + 1)))


def _pins(body: SoftBody) -> NDArray[np.int32]:
    return np.empty(0, dtype=np.int32) if body.pinned is None else body.pinned


def _start_stiffness(body: SoftBody) -> float:
    """The factor on Young's modulus at the start."""
    return 1.0 if body.stiffness is None else float(body.stiffness.at(0).ravel()[0])
