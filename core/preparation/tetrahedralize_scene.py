# SPDX-License-Identifier: GPL-3.0-or-later
"""From surfaces to tetrahedra: fill bodies, choose contact surfaces, embed skins, transfer pins
and start shapes, and pin vertices that are attached to colliders."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import embed
from ..geometry.groups import components
from ..geometry.phong_deformation import embed_smoothly
from ..geometry.tet_mesh import TetMesh
from ..geometry.triangles import compact_indices
from ..meshing import tetrahedralize
from ..meshing.report import report as report_mesh
from ..meshing.surface import check_surface, default_edge_length, outward_normals
from ..scene.contact_settings import Attachment, ContactSurface
from ..scene.scene import Scene
from ..scene.skin import Skin, SurfaceMesh
from ..scene.soft_body import SoftBody
from .contact_surface import (
    MAX_SCENE_FACES,
    boundary_surface,
    with_contact_surfaces,
    without_crossings,
)
from .intersections import Surfaces, find_close
from .pins import attached_vertices, pin_to_collider, pinned_tet_vertices, transfer_path
from .transfers import (
    check_rest_shape,
    transferred,
    with_detail,
    with_painted_settings,
    with_pose,
    with_start,
    with_tet_control,
    with_tet_rest_shape,
)

#: A part is small if the diagonal of its box is less than this ratio of the tetrahedra's edges.
SMALL_RATIO = 0.5


def carried_parts(
    points: NDArray[np.float64], triangles: NDArray[np.int32], edge_length: float
) -> NDArray[np.bool_]:
    """Mark the (F,) triangles that belong to small parts that a larger part carries.

    A larger part carries a small one that is no farther away than the small one's diagonal. With
    tetrahedra of its own, such a rivet or button would fall off, and their vibration would shorten
    the steps of the whole body.

    Args:
        points: (V, 3) of a surface, in metres.
        triangles: (F, 3) points.
        edge_length: of the tetrahedra, in metres.
    """
    _, place = np.unique(points, axis=0, return_inverse=True)
    corners = place.ravel()[triangles]
    labels = components(len(points), corners[:, [0, 1, 1, 2]].reshape(-1, 2))[corners[:, 0]]
    part = np.unique(labels, return_inverse=True)[1].ravel()
    low, high = (np.full((int(part.max(initial=-1)) + 1, 3), end) for end in (np.inf, -np.inf))
    np.minimum.at(low, part, points[triangles].min(axis=1))
    np.maximum.at(high, part, points[triangles].max(axis=1))
    diagonals = np.linalg.norm(high - low, axis=1)
    is_small = diagonals < SMALL_RATIO * edge_length
    carried = np.zeros(len(is_small), dtype=bool)
    if is_small.any() and not is_small.all():
        carried[_beside_larger(points, triangles, part, is_small, diagonals)] = True
    return carried[part]


def _beside_larger(
    points: NDArray[np.float64],
    triangles: NDArray[np.int32],
    part: NDArray[np.intp],
    is_small: NDArray[np.bool_],
    diagonals: NDArray[np.float64],
) -> NDArray[np.intp]:
    """The small parts that are no farther from a larger one than their diagonals."""
    small = is_small[part]
    order = np.concatenate([np.flatnonzero(~small), np.flatnonzero(small)])
    larger = np.count_nonzero(~small)
    # Each side has points of its own: parts of both may meet at one.
    sides = [compact_indices(triangles[side]) for side in (order[:larger], order[larger:])]
    used = [indices for indices, _ in sides]
    surfaces = Surfaces(
        np.concatenate([points[indices] for indices in used]),
        np.concatenate([sides[0][1], sides[1][1] + len(used[0])]).astype(np.int32),
        np.repeat([0, 1], [len(indices) for indices in used]).astype(np.int32),
        {(0, 0), (1, 1)},
    )
    near = find_close(surfaces, float(diagonals[is_small].max()))
    beside = part[order[near.triangles[:, 1]]]
    return np.unique(beside[near.distances <= diagonals[beside]])


# The largest distance of copies from a surface, relative to its size: rounding in single
# precision.
ROUNDING_RATIO = 1e-6

Points = NDArray[np.float64]
Triangles = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Pose:
    """The pose of an object: its (3, 3) axes, as columns, and its (3,) origin, in metres."""

    axes: Points
    origin: Points

    @staticmethod
    def of(surface: SurfaceMesh) -> _Pose:
        axes = np.eye(3) if surface.axes is None else surface.axes
        return _Pose(axes, surface.vertices.mean(axis=0))

    def local(self, points: Points) -> Points:
        """Points (..., 3) of the world, in the object's own axes."""
        return (points - self.origin) @ self.axes

    def placed(self, points: Points) -> Points:
        """Points (..., 3) in the object's own axes, in the world."""
        return points @ self.axes.T + self.origin

    def turned(self, triangles: Triangles) -> Triangles:
        """Triangles (T, 3) seen from the same side, whether the axes mirror or not."""
        is_mirrored = np.linalg.det(self.axes) < 0.0
        return np.ascontiguousarray(triangles[:, ::-1]) if is_mirrored else triangles

    def local_surface(self, surface: SurfaceMesh) -> SurfaceMesh:
        vertices, triangles = self.local(surface.vertices), self.turned(surface.triangles)
        return replace(surface, vertices=vertices, triangles=triangles, axes=None)

    def local_contact(self, surface: ContactSurface | None) -> ContactSurface | None:
        if surface is None:
            return None
        points, triangles = self.local(surface.points), self.turned(surface.triangles)
        return replace(surface, points=points, triangles=triangles)

    def placed_contact(self, surface: ContactSurface | None) -> ContactSurface | None:
        if surface is None:
            return None
        points, triangles = self.placed(surface.points), self.turned(surface.triangles)
        return replace(surface, points=points, triangles=triangles)

    def placed_mesh(self, mesh: TetMesh) -> TetMesh:
        placed = mesh.with_vertices(self.placed(mesh.vertices))
        if (tets := mesh.surface_tets) is not None:
            places, triangles = self.placed(tets.places), self.placed(tets.triangles)
            placed.surface_tets = replace(tets, places=places, triangles=triangles)
        return placed


@dataclass(frozen=True, eq=False)
class _Fill:
    """A surface in its own axes, and the body with its tetrahedra and its contact surface."""

    surface: SurfaceMesh
    body: SoftBody
    report: dict[str, Any]


class Fills:
    """The surfaces of one scene that are filled.

    Args:
        has_contact: whether there is contact, not the ground and spheres alone.
        most_faces: of a dense mesh that may touch, where no simpler copy can.
    """

    def __init__(self, has_contact: bool, most_faces: int) -> None:
        self._has_contact, self._most_faces = has_contact, most_faces
        self._fills: list[_Fill] = []

    def fill(self, body: SoftBody, surface: SurfaceMesh) -> tuple[SoftBody, dict[str, Any]]:
        """The body with the tetrahedra of its surface, and a report on these.

        Raises:
            SceneError: when the surface cannot be filled.
        """
        pose = _Pose.of(surface)
        local = pose.local_surface(surface)
        own_contact = pose.local_contact(body.contact_surface)
        fill = None if own_contact is not None else self._equal_fill(body, local)
        if fill is None:
            fill = self._filled(replace(body, contact_surface=own_contact), local)
            if own_contact is None:
                self._fills.append(fill)
        mesh = fill.body.mesh
        assert isinstance(mesh, TetMesh)
        placed = replace(
            with_painted_settings(body, surface, mesh, local),
            mesh=pose.placed_mesh(mesh),
            skin=body.skin or Skin(surface.vertices),
            contact_surface=pose.placed_contact(fill.body.contact_surface),
            seen_surface=pose.placed_contact(fill.body.seen_surface),
        )
        return placed, {**fill.report, "name": body.name}

    def _filled(self, body: SoftBody, surface: SurfaceMesh) -> _Fill:
        seen = ContactSurface(surface.vertices, surface.triangles)
        try:
            carried = _carried(surface)
            mesh = tetrahedralize(
                *(surface.vertices, surface.triangles[~carried]),
                *(surface.method, surface.edge_length),
            )
        except SceneError as error:
            raise SceneError(f"{body.name}: {error}") from error
        report = report_mesh(mesh, surface.vertices, surface.triangles, surface.edge_length)
        if carried.any():
            seen = replace(seen, through_own=carried)
        is_affordable = len(surface.triangles) <= self._most_faces
        filled, verdict = with_contact_surfaces(
            replace(body, mesh=mesh), seen, self._has_contact, is_affordable
        )
        summary = {"summary": f"{report}; {verdict}", "touching": str(verdict)}
        return _Fill(surface, filled, {**asdict(report), **summary})

    def _equal_fill(self, body: SoftBody, surface: SurfaceMesh) -> _Fill | None:
        """The fill of a surface that is the same in its own axes; None where there is none."""
        for fill in self._fills:
            if fill.body.touching == body.touching and _have_equal_fills(fill.surface, surface):
                return fill
        return None


def _carried(surface: SurfaceMesh) -> NDArray[np.bool_]:
    """Mark the (F,) triangles that the tetrahedra leave out, since larger parts carry theirs."""
    if surface.method != "lattice":
        return np.zeros(len(surface.triangles), dtype=bool)
    points, triangles = check_surface(surface.vertices, surface.triangles)
    edge_length = surface.edge_length or default_edge_length(points, triangles)
    return carried_parts(points, triangles.astype(np.int32), edge_length)


def _have_equal_fills(first: SurfaceMesh, second: SurfaceMesh) -> bool:
    """Whether two surfaces in their own axes are to be filled alike."""
    if (
        first.method != second.method
        or first.vertices.shape != second.vertices.shape
        or not _are_close(first.edge_length, second.edge_length)
        or not np.array_equal(first.triangles, second.triangles)
    ):
        return False
    farthest = float(np.abs(first.vertices - second.vertices).max())
    size = float(np.ptp(first.vertices, axis=0).max())
    return farthest <= ROUNDING_RATIO * size


def _are_close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= ROUNDING_RATIO * first


def tetrahedralize_scene(scene: Scene) -> tuple[Scene, list[dict[str, Any]]]:
    """The same scene with a TetMesh in every body and every skin embedded in it.

    Points that are attached to a collider are pinned to it. A tetrahedralized scene does not
    change.

    Returns:
        The scene, and for each body that was a surface a report on its tetrahedra.

    Raises:
        SceneError: when a surface cannot be filled or a body is pinned everywhere.
    """
    bodies, reports = [], []
    fills = Fills(scene.contact is not None, _most_faces(scene))
    for body in scene.bodies:
        surface = body.mesh
        if isinstance(surface, SurfaceMesh):
            body, report = fills.fill(body, surface)
            reports.append(report)
        if scene.contact is not None:
            body = _with_contact_surface(body)
        body, warning = with_start(with_pose(_with_rest_shape(_embed_skin(body))))
        if warning and isinstance(surface, SurfaceMesh):
            reports[-1] |= {"summary": f"{reports[-1]['summary']}; {warning}", "start": warning}
        bodies.append(body)
    tet_scene = _pin_attached(replace(scene, bodies=bodies))
    # Points that are pinned stand still, and only now all pins are known.
    smooth = [
        body
        if before.skin is not None and before.skin.embedding is not None
        else with_detail(_smooth(body, before.mesh), before)
        for before, body in zip(scene.bodies, tet_scene.bodies, strict=True)
    ]
    # Last: the skin is seen as it was modelled where the tets are as they were filled.
    rested = [with_tet_control(with_tet_rest_shape(body)) for body in smooth]
    return replace(tet_scene, bodies=rested), reports


def _most_faces(scene: Scene) -> int:
    """Return the largest face count with which a dense mesh may still collide unchanged: all
    bodies with at most this many faces have at most ``MAX_SCENE_FACES`` together. Equal meshes are
    treated alike."""
    faces = [
        len(body.mesh.triangles) for body in scene.bodies if isinstance(body.mesh, SurfaceMesh)
    ]
    sizes, meshes = np.unique(faces, return_counts=True)
    are_affordable = np.cumsum(sizes * meshes) <= MAX_SCENE_FACES
    return int(sizes[are_affordable].max(initial=0))


def _with_contact_surface(body: SoftBody) -> SoftBody:
    """The body with a contact surface that does not cross itself, where its tetrahedra overlap."""
    mesh = body.mesh
    if body.contact_surface is not None or not isinstance(mesh, TetMesh) or mesh.fill is None:
        return body
    boundary = boundary_surface(mesh)
    touching = without_crossings(boundary)
    return body if touching is boundary else replace(body, contact_surface=touching)


def _embed_skin(body: SoftBody) -> SoftBody:
    skin, mesh = body.skin, body.mesh
    surface = body.contact_surface
    if surface is not None and surface.embedding is None and isinstance(mesh, TetMesh):
        embedded_surface = replace(surface, embedding=embed(mesh, surface.points))
        body = replace(body, contact_surface=embedded_surface)
    if skin is None or skin.embedding is not None or not isinstance(mesh, TetMesh):
        return body
    embedding = embed(mesh, skin.points)
    refined = [replace(each, embedding=embed(mesh, each.points)) for each in skin.refined]
    embedded = replace(skin, embedding=embedding, refined=refined)
    if skin.pinned is None or len(skin.pinned) == 0:
        return replace(body, skin=embedded)
    if body.pinned is not None:
        raise SceneError(f"{body.name}: pin either its skin or its tetrahedra, not both.")
    pinned = pinned_tet_vertices(embedding, skin.pinned)
    path = None
    if skin.pin_path is not None:
        rest = skin.points[skin.pinned]
        place = mesh.vertices[pinned]
        path = skin.pin_path.mapped(lambda samples: transfer_path(rest, samples, place))
    return replace(body, skin=embedded, pinned=pinned, pin_path=path)


def _with_rest_shape(body: SoftBody) -> SoftBody:
    """The body with the rest shape of its skin, as its tetrahedra have it."""
    skin, mesh = body.skin, body.mesh
    if skin is not None and skin.rest_shape is not None and isinstance(mesh, TetMesh):
        assert skin.embedding is not None
        if body.rest_shape is not None:
            raise SceneError(
                f"{body.name}: give its skin or its tetrahedra a rest shape, not both."
            )
        rest_shape = transferred(skin.rest_shape, skin.points, skin.embedding, mesh)
        body = replace(body, rest_shape=rest_shape, skin=replace(skin, rest_shape=None))
    check_rest_shape(body)
    return body


def _smooth(body: SoftBody, surface: SurfaceMesh | TetMesh) -> SoftBody:
    """The body, made of a surface, with the Phong deformation of its skin."""
    skin, mesh = body.skin, body.mesh
    if skin is None or skin.embedding is None or not isinstance(mesh, TetMesh):
        return body
    if _collides_as_visible_mesh(body):
        # Parts that are kept apart follow the tets linearly, and the visible mesh must be the
        # same.
        return body
    is_pinned = np.zeros(len(mesh.vertices), dtype=bool)
    if body.pinned is not None:
        is_pinned[body.pinned] = True

    def smooth(skin: Skin) -> Skin:
        assert skin.embedding is not None
        normals = None
        if isinstance(surface, SurfaceMesh):
            normals = outward_normals(skin.points, surface.vertices, surface.triangles)
        phong = embed_smoothly(mesh, skin.points, skin.embedding, normals, is_pinned)
        return replace(skin, phong=phong)

    refined = [smooth(each) for each in skin.refined]
    return replace(body, skin=replace(smooth(skin), refined=refined))


def _collides_as_visible_mesh(body: SoftBody) -> bool:
    """Whether a body collides with points of the visible mesh, all of them or some."""
    touching, seen = body.contact_surface, body.seen_surface
    return touching is not None and seen is not None and touching.embedding is seen.embedding


def _pin_attached(scene: Scene) -> Scene:
    bodies, attachments = list(scene.bodies), []
    for attachment in scene.attachments:
        if attachment.to == "collider" and not attachment.is_pinned:
            body, collider = bodies[attachment.body], scene.meshes[attachment.other]
            pinned = pin_to_collider(body, attachment.points, collider)
            bodies[attachment.body] = pinned
            attachment = replace(attachment, is_pinned=True)
            if scene.may_take_hold_again:
                attachment = _with_shared(attachment, scene.bodies[attachment.body])
            elif scene.may_let_go and pinned.pinned is not None:
                pin_count = 0 if body.pinned is None else len(body.pinned)
                attachment = replace(attachment, vertices=pinned.pinned[pin_count:])
        attachments.append(attachment)
    return replace(scene, bodies=bodies, attachments=attachments)


def _with_shared(attachment: Attachment, body: SoftBody) -> Attachment:
    """Return an attachment that has all its vertices, also those which something else holds at
    another time."""
    vertices = attached_vertices(body, attachment.points).astype(np.int32)
    pins = np.empty(0, dtype=np.int32) if body.pinned is None else body.pinned
    shared = np.intersect1d(vertices, pins).astype(np.int32)
    return replace(attachment, vertices=vertices, also_pinned=shared if len(shared) else None)
