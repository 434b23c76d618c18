# SPDX-License-Identifier: GPL-3.0-or-later
"""What commands write: looked at before they simulate, and again once it is there."""

from __future__ import annotations

import codecs
import contextlib
import io
import sys
import tempfile
from pathlib import Path

import bpy

from ..core.errors import SuppleError
from .playback import rendered

_ON_DISK = "supple_as_on_disk"
_PNG_END = b"IEND\xae\x42\x60\x82"


def print_all() -> None:
    """Lets names be printed that a pipe has no letters for, and those of bytes that are none."""
    codecs.register_error(_ON_DISK, _as_on_disk)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ON_DISK)


def _as_on_disk(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError):
        with contextlib.suppress(UnicodeEncodeError):
            found = error.object[error.start : error.end]
            return found.encode("ascii", errors="surrogateescape"), error.end
    return codecs.backslashreplace_errors(error)


def output_file(wanted: Path | None, ending: str) -> Path:
    """The .blend file to be written, in a folder that takes it; by default beside the open one.

    Raises:
        SuppleError: when it cannot be.
    """
    output = _beside(wanted, ending)
    if output.is_dir():
        raise SuppleError(f"{output} is a folder; name a file as --output.")
    if _is_open(output):
        raise SuppleError(
            f"{output} is the file that was opened, which stays as it is; name another as --output."
        )
    _made(output.parent)
    return output


def output_folder(wanted: Path | None) -> Path:
    """The same for a folder of images."""
    return _made(_beside(wanted, "_frames"))


def saved(output: Path) -> Path:
    """Where a copy of the open file has been saved."""
    try:
        finished(bpy.ops.wm.save_as_mainfile(filepath=str(output), copy=True))
    except RuntimeError as error:
        # On a full disk Blender says that there is no such file.
        raise SuppleError(
            f"{output} was not saved. Free some space on its disk, or choose another --output; the "
            f"frames are kept. Blender says: {str(error).removeprefix('Error: ')}"
        ) from error
    return output


def check_camera(scene: bpy.types.Scene) -> None:
    """
    Raises:
        SuppleError: when Blender would refuse to render, after all is simulated.
    """
    cameras = [scene.camera, *(marker.camera for marker in scene.timeline_markers)]
    has_strips = scene.sequence_editor is not None and len(scene.sequence_editor.strips_all) > 0
    if not any(cameras) and not has_strips:
        raise SuppleError(
            f"The scene {scene.name} has no camera to render; choose one in its properties."
        )


def render_image(scene: bpy.types.Scene, image: Path) -> None:
    """Renders the frame that is shown as a PNG image.

    Raises:
        SuppleError: when there is no whole image then, or of other than the simulated frames.
    """
    scene.render.filepath = str(image)
    scene.render.use_file_extension = False
    _images_as_png(scene.render.image_settings)
    images = _views(scene.render, image)
    for each in images:
        each.unlink(missing_ok=True)
    try:
        finished(bpy.ops.render.render(write_still=True))
    except RuntimeError:
        # Where frames are gone, Blender tells of an image that it cannot write.
        problem = _why_without_frames(scene)
        if not problem:
            raise
    else:
        problem = next(filter(None, map(_why_not_whole, images)), "") or _why_without_frames(scene)
    if problem:
        for each in images:
            each.unlink(missing_ok=True)
        raise SuppleError(problem)


def _why_without_frames(scene: bpy.types.Scene) -> str:
    """Why a body was rendered at rest; empty where none was."""
    return next(filter(None, map(rendered.why_without_frames, rendered.objects(scene))), "")


def _views(render: bpy.types.RenderSettings, image: Path) -> list[Path]:
    """The files that Blender writes: one an eye where it renders in stereo."""
    if not render.use_multiview or render.image_settings.views_format != "INDIVIDUAL":
        return [image]
    suffixes = [view.file_suffix for view in render.views if view.use]
    return [image.with_name(f"{image.stem}{suffix}{image.suffix}") for suffix in suffixes]


def _why_not_whole(image: Path) -> str:
    if not image.is_file():
        return f"{image} was not written; see Blender's own messages above."
    if not image.read_bytes().endswith(_PNG_END):
        return f"{image} was not written whole. Free some space on its disk, then render again."
    return ""


def finished(result: set[str]) -> None:
    """
    Raises:
        SuppleError: when one of Blender's operators did not finish.
    """
    if "FINISHED" not in result:
        raise SuppleError("Blender did not finish; its own messages are above.")


def absolute_path(path: Path) -> Path:
    return Path.cwd() / path


def _beside(wanted: Path | None, ending: str) -> Path:
    file = Path(bpy.data.filepath)
    if wanted is None and not bpy.data.is_saved:
        raise SuppleError("No .blend file is open; name one before --command, or an --output.")
    return absolute_path(wanted or file.with_name(file.stem + ending))


def _is_open(path: Path) -> bool:
    """Whether a path leads to the open .blend file, by whatever links."""
    try:
        return path.samefile(bpy.data.filepath)
    except OSError:  # one of them is not there
        return False


def _made(folder: Path) -> Path:
    """A folder that takes files, made where it was not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "a file has that name" if folder.is_file() else error.strerror
        raise SuppleError(
            f"The folder {folder} cannot be made: {reason}. Choose another --output."
        ) from error
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise SuppleError(
            f"The folder {folder} cannot be written: {error.strerror}. Choose another --output."
        ) from error
    return folder


def _images_as_png(settings: bpy.types.ImageFormatSettings) -> None:
    if hasattr(settings, "media_type"):  # Blender 5: this is where a file is set to render a film
        settings.media_type = "IMAGE"
    settings.file_format = "PNG"
