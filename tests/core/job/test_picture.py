# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supple.core.job import picture

from ..boxes import BOX_TRIANGLES, box_corners
from .tiny_job import simulated, tiny_job

# Towards the viewer and away from it.
_NEAR, _FAR = picture._AXES[2], -picture._AXES[2]
_SQUARE = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]) @ picture._AXES[:2]
_TWO = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def test_the_nearer_surface_hides_the_other_whatever_their_order() -> None:
    near, far = (_SQUARE + _NEAR, _TWO), (_SQUARE + _FAR, _TWO)
    for bodies, front in (((near, far), 0), ((far, near), 1)):
        image = picture.draw(bodies, [_SQUARE], (40, 40))
        seen = picture.COLOURS[front].argmax()
        assert image[20, 20].argmax() == seen and image[20, 20, seen] > 100
        assert tuple(image[0, 0]) == picture.BACKGROUND


def test_a_large_triangle_has_no_holes() -> None:
    image = picture.draw([(_SQUARE, _TWO)], [_SQUARE], (300, 200))
    assert (image[20:180, 70:230] != picture.BACKGROUND).all()


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_sides_of_a_box_differ_in_brightness_whatever_its_size(size: float) -> None:
    corners = size * box_corners((0.0, 0.0, 0.0))
    image = picture.draw([(corners, BOX_TRIANGLES)], [corners], (60, 60))
    reds = image[..., 0][image[..., 0] > 60]
    assert len(np.unique(reds)) == 3


def test_the_picture_of_a_frame_shows_body_and_ground_and_is_the_same_again(tmp_path: Path) -> None:
    job = tiny_job(tmp_path / "job", 2)
    assert simulated(job.folder)[0] == 0
    first, second = (picture.draw_frame(job, 2) for _ in range(2))
    assert (first == second).all() and first.shape == (144, 192, 3)
    reds = np.unique(first[..., 0].ravel())
    assert len(reds) >= 3


def test_a_png_file_holds_the_picture(tmp_path: Path) -> None:
    image = np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    picture.write_png(tmp_path / "a.png", image)
    with Image.open(tmp_path / "a.png") as read:
        assert (np.asarray(read) == image).all()


def test_pictures_are_put_together_row_by_row() -> None:
    images = [np.full((2, 3, 3), tone, np.uint8) for tone in (1, 2, 3)]
    sheet = picture.tiled(images, 2)
    assert sheet.shape == (4, 6, 3)
    assert (sheet[0, 0, 0], sheet[0, 3, 0], sheet[2, 0, 0]) == (1, 2, 3)
    assert tuple(sheet[3, 5]) == picture.BACKGROUND
