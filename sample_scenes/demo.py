# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates, bakes and renders sample scenes: ``python3 dev.py demo [NAME …]``.

Leaves the baked .blend and a contact sheet of each in build/demo; without a name, of the first.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from supple.addon.command_line import run_with_file
from supple.sample_scenes.scenes import SAMPLES

ROOT = Path(__file__).resolve().parent.parent
SCENES = ROOT / "sample_scenes"

#: Of a small picture, in pixels.
HEIGHT = 300
SAMPLES_A_PIXEL = 32
GAP = 6
STDOUT = 1

Pixels = NDArray[np.float32]


def main(names: Sequence[str], folder: Path = ROOT / "build" / "demo") -> int:
    unknown = [name for name in names if name not in SAMPLES]
    if unknown:
        print(f"There is no scene {unknown[0]}; there are {', '.join(SAMPLES)}.", file=sys.stderr)
        return 2
    for name in names or [next(iter(SAMPLES))]:
        if status := show(name, folder):
            return status
    return 0


def show(name: str, folder: Path) -> int:
    """Bakes and renders one scene; returns the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    baked, cache = folder / f"{name}_baked.blend", folder / "cache"
    scene, sample = SCENES / f"{name}.blend", SAMPLES[name]
    if sample.find:
        output = folder / f"{name}_found.blend"
        if status := run_with_file(["find", sample.find, str(scene), "--output", str(output)]):
            return status
        scene = output
    words = ["bake", str(scene), "--output", str(baked), "--cache", str(cache)]
    if status := run_with_file(words):
        return status
    sheet = folder / f"{name}.png"
    bpy.ops.wm.open_mainfile(filepath=str(baked), load_ui=False)
    pictures = render_moments(sample.moments, folder / name)
    write_image(sheet, contact_sheet(pictures, sample.columns))
    print(f"\nBaked scene:   {baked}\nContact sheet: {sheet}\n{time.monotonic() - began:.0f} s")
    return 0


def render_moments(moments: Sequence[int], folder: Path) -> list[Pixels]:
    """Small pictures of the open scene, (HEIGHT, width, 4) each."""
    scene = bpy.context.scene
    render = scene.render
    render.resolution_x = round(HEIGHT * render.resolution_x / render.resolution_y)
    render.resolution_y = HEIGHT
    render.use_persistent_data = True
    scene.cycles.samples = SAMPLES_A_PIXEL
    pictures = []
    for number, frame in enumerate(moments, 1):
        print(f"Rendering frame {frame}, {number} of {len(moments)}", flush=True)
        scene.frame_set(frame)
        render.filepath = str(folder / f"{frame:04d}.png")
        with quiet():
            bpy.ops.render.render(write_still=True)
        pictures.append(read_image(Path(render.filepath)))
    return pictures


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hides the dozens of lines that Cycles prints a picture, past Python's own output."""
    sys.stdout.flush()
    duplicate = os.dup(STDOUT)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), STDOUT)
    try:
        yield
    finally:
        os.dup2(duplicate, STDOUT)
        os.close(duplicate)


def contact_sheet(pictures: list[Pixels], columns: int) -> Pixels:
    """The pictures in rows, with a white gap between them."""
    height, width, _ = pictures[0].shape
    rows = -(-len(pictures) // columns)
    shape = (rows * (height + GAP) + GAP, columns * (width + GAP) + GAP, 4)
    sheet = np.ones(shape, dtype=np.float32)
    for index, picture in enumerate(pictures):
        row, column = divmod(index, columns)
        # Blender keeps the lowest row of pixels first.
        bottom, left = (rows - 1 - row) * (height + GAP) + GAP, column * (width + GAP) + GAP
        sheet[bottom : bottom + height, left : left + width] = picture
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
    sys.exit(main(sys.argv[1:]))
