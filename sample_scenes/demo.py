# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates, bakes and renders a sample scene: ``python3 dev.py demo``.

Leaves the baked .blend and a contact sheet in build/demo.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from supple.addon.command_line import run_with_file

ROOT = Path(__file__).resolve().parent.parent
SCENE = ROOT / "sample_scenes" / "jelly_drop.blend"

# The moments worth seeing, in reading order.
MOMENTS = (1, 10, 12, 13, 14, 15, 16, 18, 20, 23, 32, 60)
COLUMNS = 4
SIDE = 300
SAMPLES = 32
GAP = 6
STDOUT = 1

Pixels = NDArray[np.float32]


def main(folder: Path = ROOT / "build" / "demo") -> int:
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    baked = folder / "jelly_drop_baked.blend"
    words = ["bake", str(SCENE), "--output", str(baked), "--cache", str(folder / "cache")]
    if status := run_with_file(words):
        return status
    sheet = folder / "contact_sheet.png"
    bpy.ops.wm.open_mainfile(filepath=str(baked), load_ui=False)
    write_image(sheet, contact_sheet(render_moments(folder / "frames")))
    print(f"\nBaked scene:   {baked}\nContact sheet: {sheet}\n{time.monotonic() - began:.0f} s")
    return 0


def render_moments(folder: Path) -> list[Pixels]:
    """Small pictures of the open scene, (SIDE, SIDE, 4) each."""
    scene = bpy.context.scene
    scene.render.resolution_x = scene.render.resolution_y = SIDE
    scene.render.use_persistent_data = True
    scene.cycles.samples = SAMPLES
    pictures = []
    for number, frame in enumerate(MOMENTS, 1):
        print(f"Rendering frame {frame}, {number} of {len(MOMENTS)}", flush=True)
        scene.frame_set(frame)
        scene.render.filepath = str(folder / f"{frame:04d}.png")
        with _quiet():
            bpy.ops.render.render(write_still=True)
        pictures.append(read_image(Path(scene.render.filepath)))
    return pictures


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hides the dozens of lines that Cycles prints a picture, past Python's own output."""
    sys.stdout.flush()
    kept = os.dup(STDOUT)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), STDOUT)
    try:
        yield
    finally:
        os.dup2(kept, STDOUT)
        os.close(kept)


def contact_sheet(pictures: list[Pixels]) -> Pixels:
    """The pictures in rows, with a white gap between them."""
    step = SIDE + GAP
    rows = -(-len(pictures) // COLUMNS)
    sheet = np.ones((rows * step + GAP, COLUMNS * step + GAP, 4), dtype=np.float32)
    for index, picture in enumerate(pictures):
        row, column = divmod(index, COLUMNS)
        # Blender keeps the lowest row of pixels first.
        bottom, left = (rows - 1 - row) * step + GAP, column * step + GAP
        sheet[bottom : bottom + SIDE, left : left + SIDE] = picture
    return sheet


def read_image(path: Path) -> Pixels:
    image = bpy.data.images.load(str(path))
    pixels = np.empty((image.size[1], image.size[0], 4), dtype=np.float32)
    image.pixels.foreach_get(pixels.ravel())
    bpy.data.images.remove(image)
    return pixels


def write_image(path: Path, pixels: Pixels) -> None:
    height, width, _ = pixels.shape
    image = bpy.data.images.new(path.stem, width, height)
    image.pixels.foreach_set(pixels.ravel())
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)


def register() -> None:
    from supple import register

    register()


if __name__ == "__main__":
    register()
    sys.exit(main())
