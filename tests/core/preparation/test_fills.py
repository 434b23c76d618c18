# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the filling of surfaces in their axes:"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.core import Contact, Embedding, Scene, SoftBody, SurfaceMesh, TetMesh
from supple.core.errors import SceneError
from supple.core.meshing import tetrahedralize
from supple.core.preparation import tetrahedralize_scene as fills
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.contact_settings import ContactSurface
from supple.core.scene.paint import Paint
from supple.verification.meshes import block

# By 90 degrees about x, then by 0.6 rad about z.
TURN = np.array(
    [
        [np.cos(0.6), 0.0, np.sin(0.6)],
        [np.sin(0.6), 0.0, -np.cos(0.6)],
        [0.0, 1.0, 0.0],
    ]
)
EDGE_LENGTH = 0.3
_BLOCK = block((5, 5, 6), (1.0, 1.2, 1.5))
_USED, _TRIANGLES = np.unique(_BLOCK.surface, return_inverse=True)
VERTICES, TRIANGLES = _BLOCK.vertices[_USED], _TRIANGLES.reshape(-1, 3)
# A wedge, which no motion takes to its mirror image.
VERTICES[:, 0] *= 1.0 + 0.3 * VERTICES[:, 2] + 0.1 * VERTICES[:, 1]
MIRROR = np.array([-1.0, 1.0, 1.0])


def wedge(**changes) -> SoftBody:
    surface = SurfaceMesh(VERTICES, TRIANGLES, edge_length=EDGE_LENGTH)
    return SoftBody(replace(surface, **changes), name="Wedge")


def moved(body: SoftBody, offset: float = 4.0) -> SoftBody:
    """A copy that lies elsewhere and is turned."""
    assert isinstance(body.mesh, SurfaceMesh)
    vertices = body.mesh.vertices @ TURN.T + np.array([0.0, offset, 1.0])
    axes = TURN if body.mesh.axes is None else TURN @ body.mesh.axes
    return replace(body, mesh=replace(body.mesh, vertices=vertices, axes=axes), name="Copy")


def mirrored(body: SoftBody) -> SoftBody:
    """The mirror image of an object, as a scale of −1 makes it, seen from outside."""
    assert isinstance(body.mesh, SurfaceMesh)
    surface = replace(
        body.mesh,
        vertices=body.mesh.vertices * MIRROR,
        triangles=body.mesh.triangles[:, ::-1],
        axes=np.diag(MIRROR),
    )
    return replace(body, mesh=surface, name="Mirrored")


@pytest.fixture
def filled(monkeypatch) -> list[int]:
    """The vertex counts of the filled surfaces, one entry for each filling."""
    counts: list[int] = []

    def counted(vertices, *rest):
        counts.append(len(vertices))
        return tetrahedralize(vertices, *rest)

    monkeypatch.setattr(fills, "tetrahedralize", counted)
    return counts


def prepared(*bodies: SoftBody) -> tuple[list[SoftBody], list[dict]]:
    scene, reports = tetrahedralize_scene(Scene(list(bodies), contact=Contact()))
    return scene.bodies, reports


@pytest.mark.parametrize(
    "change", [lambda body: body, moved, mirrored], ids=["", "turned", "mirror"]
)
def test_a_body_has_the_same_tetrahedra_alone_and_beside_copies(filled, change) -> None:
    body = change(wedge())
    (alone,), _ = prepared(body)
    far = replace(moved(wedge(), 50.0), name="Far")
    for bodies in ([body, far], [far, body], [far, moved(far), body]):
        beside = prepared(*bodies)[0][bodies.index(body)]
        np.testing.assert_array_equal(beside.mesh.tets, alone.mesh.tets)
        np.testing.assert_allclose(beside.mesh.vertices, alone.mesh.vertices, atol=1e-12)
        np.testing.assert_allclose(beside.mesh.fill, alone.mesh.fill, atol=1e-12)
        for part in ("contact_surface", "seen_surface"):
            own, other = getattr(alone, part), getattr(beside, part)
            np.testing.assert_array_equal(other.triangles, own.triangles)
            np.testing.assert_allclose(other.points, own.points, atol=1e-12)


@pytest.mark.parametrize("change", [moved, mirrored], ids=["turned", "mirrored"])
def test_paint_on_a_body_does_not_depend_on_how_it_stands(change) -> None:
    painted = wedge(paint=[Paint("young", 1.0 + VERTICES[:, 2]), Paint("friction", VERTICES[:, 1])])
    (plain,), _ = prepared(painted)
    (other,), _ = prepared(change(painted))
    np.testing.assert_allclose(other.material.young, plain.material.young, rtol=1e-9)
    np.testing.assert_array_equal(other.friction_paint.points, change(painted).mesh.vertices)
    np.testing.assert_array_equal(other.friction_paint.factors, plain.friction_paint.factors)


def test_a_mirrored_body_has_mirrored_tetrahedra_which_it_shares(filled) -> None:
    (plain, other), _ = prepared(wedge(), mirrored(wedge()))
    assert len(filled) == 1
    np.testing.assert_allclose(other.mesh.vertices, plain.mesh.vertices * MIRROR, atol=1e-12)
    np.testing.assert_array_equal(np.sort(other.mesh.tets), np.sort(plain.mesh.tets))
    np.testing.assert_array_equal(other.mesh.fill, plain.mesh.fill)
    touching, mirror = plain.contact_surface, other.contact_surface
    np.testing.assert_allclose(mirror.points, touching.points * MIRROR, atol=1e-12)
    np.testing.assert_array_equal(mirror.triangles, touching.triangles[:, ::-1])
    carried = mirror.embedding.interpolate(other.mesh.vertices)
    np.testing.assert_allclose(carried, mirror.points, atol=1e-9)


@pytest.mark.parametrize("axes", [2.0 * np.eye(3), np.ones((3, 3)), np.eye(2)])
def test_axes_that_are_none_are_refused(axes) -> None:
    with pytest.raises(SceneError, match="three columns that are perpendicular"):
        wedge(axes=axes)


def test_a_copy_has_the_tetrahedra_of_the_first_where_it_lies(filled) -> None:
    (first, second), reports = prepared(wedge(), moved(wedge()))
    assert len(filled) == 1
    np.testing.assert_array_equal(second.mesh.tets, first.mesh.tets)
    np.testing.assert_array_equal(second.mesh.fill, first.mesh.fill)
    expected = first.mesh.vertices @ TURN.T + np.array([0.0, 4.0, 1.0])
    np.testing.assert_allclose(second.mesh.vertices, expected, atol=1e-12)
    assert [report["name"] for report in reports] == ["Wedge", "Copy"]
    assert {**reports[0], "name": "Copy"} == reports[1]


def test_what_is_seen_and_what_touches_of_a_copy_is_its_own(filled) -> None:
    (_, second), _ = prepared(wedge(), moved(wedge()))
    surface = moved(wedge()).mesh
    assert len(filled) == 1
    np.testing.assert_array_equal(second.skin.points, surface.vertices)
    for part in (second.skin, second.contact_surface, second.seen_surface):
        assert isinstance(part.embedding, Embedding)
        carried = part.embedding.interpolate(second.mesh.vertices)
        np.testing.assert_allclose(carried, part.points, atol=1e-9)
    touching = second.contact_surface.points
    apart = np.linalg.norm(surface.vertices[:, None] - touching, axis=2)
    assert apart.min(axis=1).max() < 1e-9


def test_a_copy_of_a_copy_is_one_of_the_first(filled) -> None:
    bodies, _ = prepared(wedge(), moved(wedge()), moved(moved(wedge())), moved(wedge(), 12.0))
    assert len(filled) == 1
    assert all(np.array_equal(body.mesh.tets, bodies[0].mesh.tets) for body in bodies)


@pytest.mark.parametrize(
    "other",
    [
        wedge(edge_length=1.01 * EDGE_LENGTH),
        wedge(edge_length=None),
        wedge(vertices=1.001 * VERTICES),
        wedge(vertices=VERTICES * MIRROR),
        wedge(triangles=TRIANGLES[1:]),
        replace(wedge(), touching="tetrahedra"),
        replace(wedge(), contact_surface=ContactSurface(VERTICES, TRIANGLES)),
    ],
    ids=["edge", "no edge", "larger", "mirrored", "open", "tetrahedra touch", "own surface"],
)
def test_what_differs_is_filled_by_itself(filled, other: SoftBody) -> None:
    for pair in ((wedge(), moved(other)), (moved(other), wedge())):
        filled.clear()
        (first, second), _ = prepared(*pair)
        assert len(filled) == 2
        assert isinstance(first.mesh, TetMesh) and isinstance(second.mesh, TetMesh)


def test_rounding_in_single_precision_makes_no_difference(filled) -> None:
    copy = moved(wedge())
    assert isinstance(copy.mesh, SurfaceMesh)
    single = copy.mesh.vertices.astype(np.float32).astype(np.float64)
    prepared(wedge(), replace(copy, mesh=replace(copy.mesh, vertices=single)))
    assert len(filled) == 1


def test_each_copy_has_its_own_paint(filled) -> None:
    halves = np.where(VERTICES[:, 2] > 0.7, 2.0, 1.0)
    painted = wedge(paint=[Paint("young", halves)])
    (plain, other), _ = prepared(wedge(), moved(painted))
    assert len(filled) == 1
    assert np.ndim(plain.material.young) == 0
    assert other.material.young.max() == pytest.approx(2.0 * plain.material.young)
    assert other.material.young.min() == pytest.approx(plain.material.young)


def test_a_warning_about_the_first_is_not_one_about_its_copies(filled) -> None:
    _, reports = prepared(wedge(), moved(wedge()))
    reports[0]["start"] = "of the first"
    assert "start" not in reports[1]
