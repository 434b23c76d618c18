# SPDX-License-Identifier: GPL-3.0-or-later
"""From surfaces to tetrahedra: bodies filled, contact surfaces chosen, skins embedded, pins
transferred, start shapes too, what is attached to colliders pinned to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import SceneError
from ..geometry.embedding import embed
from ..geometry.phong_deformation import embed_smoothly
from ..geometry.tet_mesh import TetMesh
from ..scene.scene import Scene
from ..scene.skin import Skin, SurfaceMesh
from ..scene.soft_body import SoftBody
from .collider_pins import pin_to_collider
from .contact_surface import MAX_SCENE_FACES
from .fills import Fills
from .pin_transfer import pinned_tet_vertices, transfer_path
from .pose_transfer import with_detail, with_pose
from .rest_shape_transfer import check_rest_shape, transferred
from .start_transfer import with_start
from .surface_normals import outward_normals
from .tet_control_transfer import with_tet_control
from .tet_rest_transfer import with_tet_rest_shape
from .uncrossed_surface import boundary_surface, without_crossings


def tetrahedralize_scene(scene: Scene) -> tuple[Scene, list[dict[str, Any]]]:
    """The same scene with a TetMesh in every body and every skin embedded in it.

    What is attached to a collider is pinned to it. A scene that went through this once stays as it
    is.

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
    """Of a mesh that may touch though it is dense: of the largest that has, with all that have no
    more, at most ``MAX_SCENE_FACES``. Meshes that are alike touch alike."""
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
        own = transferred(skin.rest_shape, skin.points, skin.embedding, mesh)
        body = replace(body, rest_shape=own, skin=replace(skin, rest_shape=None))
    check_rest_shape(body)
    return body


def _smooth(body: SoftBody, surface: SurfaceMesh | TetMesh) -> SoftBody:
    """The body, made of a surface, with the Phong deformation of its skin."""
    skin, mesh = body.skin, body.mesh
    if skin is None or skin.embedding is None or not isinstance(mesh, TetMesh):
        return body
    if _touches_as_seen(body):
        # What is kept apart is where the tets take it linearly, and nothing else may be seen.
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


def _touches_as_seen(body: SoftBody) -> bool:
    """Whether it touches with points of the mesh that is seen, all of them or some."""
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
            if scene.may_let_go and pinned.pinned is not None:
                own = 0 if body.pinned is None else len(body.pinned)
                attachment = replace(attachment, vertices=pinned.pinned[own:])
        attachments.append(attachment)
    return replace(scene, bodies=bodies, attachments=attachments)
