# SPDX-License-Identifier: GPL-3.0-or-later
"""From goals of a skin to those of all tet vertices, stiffer the deeper below the surface.

What a spring of the weight w draws at the surface, one of w / s(d) draws at the depth d, with
s(d) = 1 − 3 t² + 2 t³ of t = d / D, which falls smoothly from 1 at the surface to 0 at the depth D.
Where the weight comes to 1, a vertex is held wholly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.closest_point import closest_among_near
from ..geometry.tet_mesh import TetMesh
from ..scene.channel import Channel
from ..scene.skin import Skin
from ..scene.soft_body import SoftBody

FloatArray = NDArray[np.float64]


def with_held_core(body: SoftBody, pose: Channel) -> SoftBody:
    """The body with goals and pins of tet vertices where its skin's goals fall off with the depth.

    Args:
        pose: channel of all (N, 3) tet vertices in metres.

    Raises:
        SceneError: when no tet vertex lies below the surface, or tet vertices have goals already.
    """
    skin, mesh = body.skin, body.mesh
    if skin is None or skin.goals is None or skin.goals.falloff_depth is None:
        return body
    assert isinstance(mesh, TetMesh)
    if body.goals is not None:
        raise SceneError(
            f"{body.name}: the goals of its skin fall off with the depth, and so become those of "
            "its tet vertices, which have some already; leave one of them out."
        )
    depth = depths(mesh)
    if depth.max() <= 0.0:
        raise SceneError(
            f"{body.name}: all vertices of its tetrahedra lie on their surface, so there is no "
            "core to hold; use a finer resolution, or no falloff from the surface."
        )
    stiffness = _falling_off(_weights(skin, mesh), depth / (skin.goals.falloff_depth * depth.max()))
    if body.pinned is not None:
        stiffness[body.pinned] = 1.0
    held = np.flatnonzero(stiffness >= 1.0).astype(np.int32)
    drawn = np.flatnonzero((stiffness > 0.0) & (stiffness < 1.0)).astype(np.int32)
    goals = None
    if len(drawn):
        goals = replace(
            skin.goals,
            vertices=drawn,
            targets=pose.mapped(lambda samples: samples[:, drawn]),
            weights=stiffness[drawn],
            falloff_depth=None,
        )
    pin_path = pose.mapped(lambda samples: samples[:, held])
    without = replace(skin, goals=None)
    return replace(body, pinned=held, pin_path=pin_path, goals=goals, skin=without)


def depths(mesh: TetMesh) -> FloatArray:
    """(N,) how far tet vertices lie below the surface of the tets, in metres."""
    inside = np.ones(len(mesh.vertices), dtype=bool)
    inside[mesh.surface] = False
    points, depth = mesh.vertices[inside], np.zeros(len(mesh.vertices))
    if len(points):
        triangle, shares = closest_among_near(points, mesh.vertices, mesh.surface)
        closest = np.einsum("pc,pci->pi", shares, mesh.vertices[mesh.surface[triangle]])
        depth[inside] = np.linalg.norm(points - closest, axis=1)
    return depth


def _weights(skin: Skin, mesh: TetMesh) -> FloatArray:
    """(N,) those of the skin's goals, 1 where it is pinned, from its closest point each."""
    # It loads scipy.spatial, which takes a moment that other scenes need not wait.
    from scipy.spatial import cKDTree

    assert skin.goals is not None
    weights = np.zeros(len(skin.points))
    weights[skin.goals.vertices] = skin.goals.weights
    if skin.pinned is not None:
        weights[skin.pinned] = 1.0
    found: FloatArray = weights[cKDTree(skin.points).query(mesh.vertices)[1]]
    return found


def _falling_off(weights: FloatArray, depth: FloatArray) -> FloatArray:
    """(N,) weights below 1 raised by the depth, in units of that which is held wholly."""
    share = np.clip(1.0 - depth * depth * (3.0 - 2.0 * depth), 0.0, 1.0)
    share[depth >= 1.0] = 0.0
    raised: FloatArray = np.where(weights >= share, 1.0, weights / np.maximum(share, 1e-300))
    return raised
