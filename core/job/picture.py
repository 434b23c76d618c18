# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pictures of frames, drawn without Blender: bodies in colour, from the front and above."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DamageError
from ..geometry.tet_mesh import TetMesh
from ..scene.skin import SurfaceMesh
from . import Job
from .files import read_bytes, write_whole

Image = NDArray[np.uint8]
Points = NDArray[np.float64]

#: Width and height of a picture, in pixels.
SIZE = (192, 144)
BACKGROUND = (38, 40, 46)
# Colours that are distinct for colour-blind readers, too (Okabe and Ito 2008).
COLOURS = np.array(
    [(230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0)]
)
# Rows: to the right, up, and towards the viewer. The view is from above by 20° and from the right
# by 30°.
_TURN, _DOWN = np.radians(30.0), np.radians(20.0)
_AXES = np.array(
    [
        (np.cos(_TURN), np.sin(_TURN), 0.0),
        (-np.sin(_TURN) * np.sin(_DOWN), np.cos(_TURN) * np.sin(_DOWN), np.cos(_DOWN)),
        (np.sin(_TURN) * np.cos(_DOWN), -np.cos(_TURN) * np.cos(_DOWN), np.sin(_DOWN)),
    ]
)
# From the upper left, in the same axes.
_LIGHT = np.array([-0.48, 0.6, 0.64])
_DARKEST = 0.35
# Free space around the bodies, of the height of the picture.
_MARGIN = 0.06
# The overlap of triangles, relative to their sides, so that no pixel between two is left out.
_SEAM = 1e-6


def draw_frame(job: Job, index: int) -> Image:
    """(H, W, 3) picture of the bodies of a job after a frame. The view depends on the start only,
    so that pictures of different runs of a scene compare.

    Raises:
        JobError: a file of the job is missing or damaged.
    """
    bodies = _surfaces(job, index)
    start = [points for points, _ in _surfaces(job, 0)]
    ground = None if job.scene.ground is None else job.scene.ground.height
    return draw(bodies, [*start, *(points for points, _ in bodies)], ground=ground)


def draw(
    bodies: Sequence[tuple[Points, NDArray[np.int32]]],
    shown: Sequence[Points],
    size: tuple[int, int] = SIZE,
    ground: float | None = None,
) -> Image:
    """(H, W, 3) picture of surfaces.

    Args:
        bodies: (V, 3) points and (T, 3) triangles of each.
        shown: the points that have to be in the picture.
        size: width and height in pixels.
        ground: its height; None for none.
    """
    width, height = size
    around = np.concatenate([*shown]) @ _AXES.T
    low, high = around[:, :2].min(axis=0), around[:, :2].max(axis=0)
    inner = (1.0 - 2.0 * _MARGIN) * np.array(size)
    scale = float((inner / np.maximum(high - low, 1e-12)).min())
    centre = 0.5 * (low + high)
    image = np.full((height, width, 3), BACKGROUND, dtype=np.uint8)
    depth = np.full((height, width), -np.inf)
    if ground is not None:
        points = np.concatenate([*shown])
        middle, reach = points.mean(axis=0), 0.75 * float(np.ptp(points, axis=0).max())
        square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]) * reach + middle[:2]
        plane = np.column_stack([square, np.full(4, ground)])
        bodies = [*bodies, (plane, np.array([[0, 1, 2], [0, 2, 3]], np.int32))]
    for number, (points, triangles) in enumerate(bodies):
        is_ground = ground is not None and number == len(bodies) - 1
        colour = np.array((70, 73, 82)) if is_ground else COLOURS[number % len(COLOURS)]
        projected = points @ _AXES.T
        projected *= (scale, -scale, scale)
        projected[:, :2] += np.array((0.5 * width, 0.5 * height)) - centre * (scale, -scale)
        _fill(image, depth, projected[triangles], colour)
    return image


def _fill(image: Image, depth: NDArray[np.float64], corners: Points, colour: Any) -> None:
    """Draw (T, 3, 3) triangles in pixels over everything behind them."""
    edges = corners[:, [1, 2]] - corners[:, :1]
    flat = np.cross(edges[:, 0], edges[:, 1])
    normal = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
    # The visible side faces the viewer for any order of its corners.
    normal *= np.where(normal[:, 2:] < 0.0, -1.0, 1.0)
    # In pixels y points down.
    light = np.clip(normal @ (_LIGHT * (1.0, -1.0, 1.0)), 0.0, 1.0)
    shade = _DARKEST + (1.0 - _DARKEST) * light
    low = np.clip(np.floor(corners[..., :2].min(axis=1)), 0, image.shape[1::-1])
    high = np.clip(np.ceil(corners[..., :2].max(axis=1)), 0, image.shape[1::-1])
    # Triangles whose pixels fit into squares of one size are drawn together.
    sides = 2 ** np.ceil(np.log2(np.maximum((high - low).max(axis=1), 1.0))).astype(int)
    for side in np.unique(sides):
        chosen = np.flatnonzero(sides == side)
        at, inside = _pixels(corners[chosen], low[chosen], side)
        tones = np.broadcast_to(shade[chosen, None], inside.shape)[inside]
        _put(image, depth, at[inside], tones[:, None] * colour)


def _pixels(
    corners: Points, low: Points, side: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The (T, side², 3) middles of pixels and their depths on (T, 3, 3) triangles, in squares that
    begin at the (T, 2) pixels ``low``; and whether each is inside of its triangle."""
    y, x = np.divmod(np.arange(side * side), side)
    middles = low[:, None] + np.stack([x, y], axis=1) + 0.5
    first, (across, along) = corners[:, 0], (corners[:, k] - corners[:, 0] for k in (1, 2))
    area = across[:, 0] * along[:, 1] - across[:, 1] * along[:, 0]
    # Triangles on edge show nothing.
    scale = np.divide(1.0, area, out=np.zeros_like(area), where=area != 0.0)[:, None]
    dx, dy = middles[..., 0] - first[:, 0, None], middles[..., 1] - first[:, 1, None]
    u = (dx * along[:, 1, None] - dy * along[:, 0, None]) * scale
    v = (dy * across[:, 0, None] - dx * across[:, 1, None]) * scale
    inside = (u >= -_SEAM) & (v >= -_SEAM) & (u + v <= 1.0 + _SEAM) & (scale != 0.0)
    depths = first[:, 2, None] + u * across[:, 2, None] + v * along[:, 2, None]
    return np.concatenate([middles, depths[..., None]], axis=2), inside


def _put(image: Image, depth: NDArray[np.float64], at: Points, colours: Points) -> None:
    """Draw pixels that are in front of the present ones."""
    x, y = at[:, 0].astype(int), at[:, 1].astype(int)
    is_inside = (x < image.shape[1]) & (y < image.shape[0])
    x, y, z, colours = x[is_inside], y[is_inside], at[is_inside, 2], colours[is_inside]
    # The nearest of each pixel comes last.
    order = np.argsort(z, kind="stable")
    order = order[z[order] >= depth[y[order], x[order]]]
    depth[y[order], x[order]] = z[order]
    image[y[order], x[order]] = colours[order].astype(np.uint8)


def _surfaces(job: Job, index: int) -> list[tuple[Points, NDArray[np.int32]]]:
    surfaces = []
    frame, start = job.read_frame(index), 0
    for body, tets, skin_positions in zip(
        job.scene.bodies, job.tet_scene.bodies, job.seen_positions(index), strict=True
    ):
        assert isinstance(tets.mesh, TetMesh)
        count = len(tets.mesh.vertices)
        surface, points = body.mesh, np.asarray(skin_positions[0])
        if isinstance(surface, SurfaceMesh) and len(surface.vertices) == len(points):
            surfaces.append((points, surface.triangles))
        else:
            surfaces.append((np.asarray(frame[start : start + count]), tets.mesh.surface))
        start += count
    return surfaces


def tiled(images: Sequence[Image], columns: int) -> Image:
    """One picture of several of one size, row by row."""
    height, width, _ = images[0].shape
    rows = -(-len(images) // columns)
    sheet = np.full((rows * height, columns * width, 3), BACKGROUND, dtype=np.uint8)
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        sheet[row * height :, column * width :][:height, :width] = image
    return sheet


def write_png(path: Path, image: Image) -> None:
    """Write a picture as a PNG file, of 8 bits a colour (ISO/IEC 15948).

    Raises:
        JobError: it cannot be written.
    """
    height, width, _ = image.shape
    # Each line begins with the number of its filter, 0 for none.
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    lines[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    write_whole(path, b"\x89PNG\r\n\x1a\n", *packed)


def read_png(path: Path) -> Image:
    """Read a picture that ``write_png`` wrote.

    Raises:
        DamageError: it is another one.
    """
    content = read_bytes(path)
    try:
        width, height = struct.unpack(">II", content[16:24])
        # After the signature and the header, of 8 and 25 bytes, come its length and name.
        (size,) = struct.unpack(">I", content[33:37])
        lines = np.frombuffer(zlib.decompress(content[41 : 41 + size]), np.uint8)
        return lines.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)
    except (ValueError, struct.error, zlib.error) as error:
        raise DamageError(path, str(error)) from error
