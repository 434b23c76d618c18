# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts closer than a cell are joined where the surface joins them, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from supple.core import Scene, Simulator, SoftBody, TetMesh, embed, tetrahedralize
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.meshing.surface import signed_volume
from supple.core.preparation.contact_surface import refined
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.contact_settings import ContactSurface
from supple.core.scene.skin import Skin, SurfaceMesh

from .meshes import box, pieces, voxels, with_shells

EDGE = 1.0


def visible(mesh: TetMesh, vertices: NDArray[np.float64]) -> NDArray[np.int32]:
    """(V, 4) tet vertices that each vertex of the surface follows."""
    return embed(mesh, vertices).indices


def hand(gap: float, length: int = 5) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Two fingers side by side, so long, on a palm."""
    solid = np.ones((3, 2, 2 + length), dtype=bool)
    solid[1, :, 2:] = False
    vertices, triangles = voxels(solid)
    vertices[:, 0] = np.interp(vertices[:, 0], [0, 1, 2, 3], [0, 1.2, 1.2 + gap, 2.4 + gap])
    return vertices, triangles


@pytest.mark.parametrize("gap", [0.33, 0.1, 0.01])
def test_fingers_hang_together_at_the_palm_only(gap) -> None:
    vertices, triangles = hand(gap)
    mesh = tetrahedralize(vertices, triangles, edge_length=EDGE)
    assert pieces(mesh) == 1
    left = vertices[:, 0] < 1.2 + gap / 2
    tip = vertices[:, 2] > 4.5
    followed = visible(mesh, vertices)
    assert set(followed[left & tip].ravel()).isdisjoint(followed[~left & tip].ravel())


def test_lips_are_apart_up_to_the_corner_of_the_mouth() -> None:
    solid = np.ones((4, 4, 3), dtype=bool)
    solid[1:3, 2:, 1] = False
    vertices, triangles = voxels(solid)
    vertices[:, 2] = np.interp(vertices[:, 2], [0, 1, 2, 3], [0, 1.4, 1.5, 2.9])
    mesh = tetrahedralize(vertices, triangles, edge_length=EDGE)
    assert pieces(mesh) == 1
    lip = (np.abs(vertices[:, 0] - 2.0) < 0.5) & (vertices[:, 1] == 4.0)
    upper, lower = (visible(mesh, vertices)[lip & side] for side in _sides(vertices))
    assert set(upper.ravel()).isdisjoint(lower.ravel())


def _sides(vertices: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    return [vertices[:, 2] == 1.5, vertices[:, 2] == 1.4]


def test_two_shells_that_are_apart_are_two_pieces() -> None:
    one = box((0, 0, 0), (3, 3, 1.3), (3, 3, 1))
    two = box((0, 0, 1.4), (3, 3, 2.7), (3, 3, 1))
    vertices, triangles = with_shells(one, two)
    mesh = tetrahedralize(vertices, triangles, edge_length=EDGE)
    assert pieces(mesh) == 2
    assert mesh.material_volumes.sum() == pytest.approx(2 * 11.7, rel=0.01)


def test_shells_that_overlap_a_little_hold_together() -> None:
    one = box((0, 0, 0), (3, 3, 1.3), (3, 3, 1))
    two = box((0.5, 0.5, 1.25), (2.5, 2.5, 2.7), (3, 3, 1))
    mesh = tetrahedralize(*with_shells(one, two), edge_length=EDGE)
    assert pieces(mesh) == 1
    assert mesh.material_volumes.sum() == pytest.approx(11.7 + 4 * 1.4, rel=0.01)


@pytest.mark.parametrize("thickness", [0.05, 0.15, 0.4])
def test_a_thin_leaf_keeps_its_volume(thickness) -> None:
    vertices, triangles = box((0, 0, 0), (12, 9, thickness), (24, 18, 1))
    vertices[:, 2] += 0.5 * np.sin(0.5 * vertices[:, 0])
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    mesh = tetrahedralize(vertices @ turn, triangles, edge_length=EDGE)
    true = abs(signed_volume(vertices, triangles))
    assert pieces(mesh) == 1
    assert mesh.material_volumes.sum() == pytest.approx(true, rel=0.05)
    near = vertices[:, 0] < 6.0
    half = mesh.vertices @ turn.T
    share = mesh.lumped_mass(1.0)[half[:, 0] < 6.0].sum() / true
    assert share == pytest.approx(near.mean(), abs=0.05)


@pytest.mark.parametrize("width", [0.3, 0.45])
def test_a_thin_rod_on_a_thick_block_keeps_its_own_volume(width) -> None:
    block = box((0, 0, 0), (4, 4, 4), (4, 4, 4))
    rod = box((1.87, 1.83, 3.6), (1.87 + width, 1.83 + width, 12), (1, 1, 12))
    mesh = tetrahedralize(*with_shells(block, rod), edge_length=EDGE)
    above = mesh.vertices[mesh.tets][:, :, 2].mean(axis=1) > 6.0
    assert mesh.material_volumes[above].sum() == pytest.approx(6.0 * width**2, rel=0.1)
    assert mesh.material_volumes.sum() == pytest.approx(64.0 + 8.0 * width**2, rel=0.01)


@pytest.mark.parametrize("turn", [1, 4, 5])
def test_what_is_seen_around_the_end_of_a_gap_is_not_torn(turn) -> None:
    coarse, faces = hand(0.33, length=3)
    fine = refined(ContactSurface(coarse, faces.astype(np.int32)), 0.2 * EDGE)
    rotation, _ = np.linalg.qr(np.random.default_rng(turn).normal(size=(3, 3)))
    vertices = fine.points @ rotation
    mesh = tetrahedralize(vertices, fine.triangles, edge_length=EDGE)
    assert pieces(mesh) == 1
    assert steepest(mesh, vertices, fine.triangles) < 8.0 / EDGE
    tip, left = fine.points[:, 2] > 4.0, fine.points[:, 0] < 1.3
    followed = visible(mesh, vertices)
    assert set(followed[left & tip].ravel()).isdisjoint(followed[~left & tip].ravel())


def steepest(mesh: TetMesh, vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> float:
    """The largest difference between the weights of two neighbours, over their distance."""
    embedding = embed(mesh, vertices)
    weights = np.zeros((len(vertices), len(mesh.vertices)))
    np.put_along_axis(weights, embedding.indices, embedding.weights, axis=1)
    a, b = triangles.T.ravel(), np.roll(triangles, -1, axis=1).T.ravel()
    step = np.abs(weights[a] - weights[b]).sum(axis=1)
    return float((step / np.linalg.norm(vertices[a] - vertices[b], axis=1)).max())


def test_a_finger_beside_another_can_be_bent_away_from_it() -> None:
    vertices, triangles = hand(0.2)
    left = (vertices[:, 0] < 1.3) | (vertices[:, 2] < 2.5)
    body = SoftBody(
        SurfaceMesh(vertices, triangles, "lattice", EDGE),
        StableNeoHookean(2e4, 0.4),
        density=100.0,
        skin=Skin(vertices, np.flatnonzero(left).astype(np.int32)),
    )
    scene, _ = tetrahedralize_scene(Scene([body], gravity=(9.81, 0.0, 0.0)))
    skin = scene.bodies[0].skin
    *_, last = Simulator(scene, ImplicitEuler(), device="cpu").run(12)
    seen = skin.embedding.interpolate(last.positions[0].numpy())
    tip = ~left & (vertices[:, 2] == 7.0)
    assert (seen[tip, 0] - vertices[tip, 0]).min() > 0.3
    np.testing.assert_allclose(seen[left], vertices[left], atol=1e-9)
