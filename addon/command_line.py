# SPDX-License-Identifier: GPL-3.0-or-later
"""Supple without a window.

::

    blender scene.blend --command supple simulate --frames 1-60
    python -m supple simulate scene.blend --frames 1-60

Both take the same commands: ``simulate``, ``bake``, ``render``, ``find`` and ``doctor``. The exit
status is 0 only when what was asked for exists on disk; otherwise a line on stderr gives the
reason. After Ctrl-C it is 130.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from math import ceil
from pathlib import Path
from typing import Any

import bpy

from ..core.errors import JobInUseError, SuppleError
from ..core.job import Job, lock
from . import actions, runs
from .bake import shape_keys
from .bake_run import AUTOMATIC, KINDS
from .capture.objects import left_out, soft_bodies
from .capture.scene import played_range, simulated_range
from .command_output import (
    absolute_path,
    check_camera,
    finished,
    output_file,
    output_folder,
    print_all,
    render_image,
    saved,
)
from .command_words import common_options, parsed_step
from .fits.table import TOOLS
from .playback import mesh_cache

Action = Callable[[argparse.Namespace], None]

INTERRUPTED = 130  # the status of a program that Ctrl-C ended
STOPPED = "stopped; the frames so far are kept, and the same command goes on."

_command: Any = None


def register() -> None:
    global _command
    _command = bpy.utils.register_cli_command("supple", run)


def unregister() -> None:
    bpy.utils.unregister_cli_command(_command)


def run(arguments: Sequence[str]) -> int:
    """``blender scene.blend --command supple`` with these arguments; the file is open already."""
    return _guarded(arguments, parser("blender scene.blend --command supple", with_file=False))


def run_with_file(arguments: Sequence[str]) -> int:
    """``python -m supple`` with these arguments, which name the file to open."""
    return _guarded(arguments, parser("python -m supple", with_file=True))


def _guarded(arguments: Sequence[str], described: argparse.ArgumentParser) -> int:
    print_all()
    try:
        options = described.parse_args(arguments)
    except SystemExit as wanted:  # argparse has reported why
        return int(wanted.code or 0)
    try:
        with _ctrl_c_raises():
            if getattr(options, "file", None) is not None:
                _open(options.file)
                if options.scene is not None:
                    _choose_scene(options.scene)
            elif options.action is not doctor:
                _check_opened()
            options.action(options)
    except KeyboardInterrupt:
        print(f"supple: {STOPPED}", file=sys.stderr, flush=True)
        return INTERRUPTED
    except (SuppleError, RuntimeError, OSError) as error:
        # What Blender's operators report arrives as a RuntimeError.
        reason = " ".join(str(error).removeprefix("Error: ").split())
        print(f"supple: {reason}", file=sys.stderr, flush=True)
        return 1
    return 0


@contextlib.contextmanager
def _ctrl_c_raises() -> Iterator[None]:
    """Blender without a window only takes note of the first Ctrl-C."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        # None is a handler that is none of Python's.
        if before is not None:
            signal.signal(signal.SIGINT, before)


# The commands


def parser(program: str, with_file: bool) -> argparse.ArgumentParser:
    described = argparse.ArgumentParser(prog=program, description="Soft bodies without a window.")
    commands = described.add_subparsers(required=True, metavar="COMMAND")
    common = common_options(with_file)
    simulate_command = commands.add_parser(
        "simulate",
        parents=[common],
        help="simulate into the cache; goes on where an earlier run of the same scene stopped",
    )
    simulate_command.set_defaults(action=simulate)
    bake_command = commands.add_parser(
        "bake", parents=[common], help="simulate what is missing, bake shape keys, save the file"
    )
    bake_command.add_argument(
        "--output", type=Path, metavar="FILE", help="default: <name>_baked.blend beside the file"
    )
    bake_command.add_argument(
        "--step",
        type=parsed_step,
        default=1,
        metavar="N",
        help="a key every N frames, and at the last; default: every frame",
    )
    bake_command.add_argument(
        "--keys",
        choices=[name for name, *_ in KINDS],
        default=AUTOMATIC,
        help="file: absolute, the fastest to play; export: relative, which glTF and FBX hold; "
        "automatic: export where so many keys play fast enough",
    )
    bake_command.set_defaults(action=bake)
    render_command = commands.add_parser(
        "render",
        parents=[common],
        help="simulate what is missing up to the last frame, unless baked, and render PNG images",
    )
    render_command.add_argument(
        "--output", type=Path, metavar="FOLDER", help="default: <name>_frames beside the file"
    )
    render_command.set_defaults(action=render)
    tool = argparse.ArgumentParser(add_help=False)
    tool.add_argument(
        "tool", choices=TOOLS, metavar="TOOL", help=f"what is wanted of it: {', '.join(TOOLS)}"
    )
    find_command = commands.add_parser(
        "find",
        parents=[tool, common],
        help="find a rest shape, throw, stiffness or forces of a soft body, set it, save the file",
    )
    find_command.add_argument("--object", metavar="NAME", help="default: the only soft body")
    find_command.add_argument(
        "--output", type=Path, metavar="FILE", help="default: <name>_found.blend beside the file"
    )
    find_command.set_defaults(action=find)
    about = "check what the solver needs on this machine"
    commands.add_parser("doctor", help=about).set_defaults(action=doctor)
    return described


# What they do


def simulate(options: argparse.Namespace) -> None:
    """Simulates the scene and prints where the job folder is."""
    _set_up(options)
    _conclude(_simulated())


def bake(options: argparse.Namespace) -> None:
    """Simulates, bakes and saves."""
    _set_up(options)
    output = output_file(options.output, "_baked.blend")
    _simulated()
    _log(actions.bake(bpy.context, options.step, options.keys))
    _conclude(saved(output))


def render(options: argparse.Namespace) -> None:
    """Renders the frames as PNG images with the scene's own engine."""
    scene = bpy.context.scene
    _apply(options)
    first, last = options.frames or (scene.frame_start, scene.frame_end)
    bodies = _soft_bodies()
    check_camera(scene)
    folder = output_folder(options.output)
    with contextlib.ExitStack() as stack:
        if not all(map(shape_keys.has_bake, bodies)):
            frames = played_range(scene)
            # Motion blur sees what comes next. One more frame than the start is the least.
            blurred = ceil(scene.render.motion_blur_shutter) if scene.render.use_motion_blur else 0
            end = max(last, min(last + blurred, frames[-1]))
            _simulate_from_to(frames.start, max(end, frames.start + 1))
            # Parts of a shot are rendered from one file.
            stack.enter_context(lock.show(_simulated(may_go_on=True)))
        for frame in range(first, last + 1):
            scene.frame_set(frame)
            render_image(scene, folder / f"{frame:04d}.png")
            _log(f"Rendered frame {frame} of {first}-{last}")
    _conclude(folder)


def find(options: argparse.Namespace) -> None:
    """Finds what a soft body needs, sets it and saves."""
    _set_up(options)
    output = output_file(options.output, "_found.blend")
    bodies = {obj.name: obj for obj in _soft_bodies()}
    name = options.object or (next(iter(bodies)) if len(bodies) == 1 else "")
    if name not in bodies:
        raise SuppleError(f"Name a soft body by --object: {', '.join(bodies)}.")
    _log(actions.find(bpy.context, bodies[name], options.tool, _log))
    _conclude(saved(output))


def doctor(_: argparse.Namespace) -> None:
    """Prints what the solver finds; an error when something is missing."""
    from .reports.doctor import examine, formatted

    findings = examine()
    print(formatted(findings), flush=True)
    problems = [finding for finding in findings if finding.cure]
    if problems:
        raise SuppleError(f"{problems[0].what}: {problems[0].cure}")


def _set_up(options: argparse.Namespace) -> None:
    """Sets what the options say, the frames to simulate among it."""
    _apply(options)
    if options.frames:
        _simulate_from_to(*options.frames)


def _apply(options: argparse.Namespace) -> None:
    props = bpy.context.scene.supple
    if options.pre_roll is not None:
        props.pre_roll = options.pre_roll
    if options.device is not None:
        props.device = options.device
    if options.integrator is not None:
        props.integrator = options.integrator
    if options.substeps is not None:
        props.substeps = options.substeps
    if options.results is not None:
        props.results = set(options.results)
    if options.cache is not None:
        props.cache_folder = str(absolute_path(options.cache))


def _simulate_from_to(first: int, last: int) -> None:
    props = bpy.context.scene.supple
    props.use_scene_range = False
    props.frame_start, props.frame_end = first, last


def _simulated(may_go_on: bool = False) -> Path:
    """Simulates what is missing, unless another process does; the job folder, once it holds every
    frame."""
    while True:
        try:
            _log(actions.simulate(bpy.context, _log, may_go_on))
            break
        except JobInUseError as error:
            _wait(error.folder)
    scene = bpy.context.scene
    folder = mesh_cache.shown_folder(scene)
    if folder is None or Job(folder).last_frame() < len(simulated_range(scene)) - 1:
        raise SuppleError("The simulation ended before its last frame.")
    return folder.resolve()


def _wait(folder: Path) -> None:
    """Until no other process is at work in a job folder, be it done or dead."""
    said = -1
    while holder := lock.holder(folder):
        if (frames := Job(folder).last_frame() + 1) != said:
            _log(f"Waiting for {holder}, which simulates the same: {frames} frames so far")
            said = frames
        time.sleep(runs.LOG_SECONDS)


def _conclude(result: Path) -> None:
    """Prints what was made as the last line, for scripts to take."""
    # In a pipe, what Blender itself printed would otherwise come after it, at exit.
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)
    print(result, flush=True)


def _check_opened() -> None:
    """
    Raises:
        SuppleError: when Blender goes on with its startup file, since it cannot read the one that
            it was given.
    """
    words = takewhile(lambda word: word not in ("-c", "--command"), sys.argv[1:])
    file = next((word for word in words if Path(word).suffix.lower() == ".blend"), None)
    if file is not None and not bpy.data.is_saved:
        raise SuppleError(f"Blender cannot read {file}; its own messages are above.")


def _choose_scene(name: str) -> None:
    scene = bpy.data.scenes.get(name)
    if scene is None:
        there = ", ".join(each.name for each in bpy.data.scenes)
        raise SuppleError(f"The file has no scene {name}; name one as --scene: {there}.")
    bpy.context.window.scene = scene


def _log(message: str) -> None:
    print(f"Supple: {message}", flush=True)


def _soft_bodies() -> list[bpy.types.Object]:
    found = soft_bodies(bpy.context)
    if not found:
        none = "The scene has no soft body; add one in Blender first."
        raise SuppleError(" ".join(left_out(bpy.context)) or none)
    return found


def _open(file: Path) -> None:
    if not file.is_file():
        raise SuppleError(f"{file} {'is a folder' if file.is_dir() else 'does not exist'}.")
    finished(bpy.ops.wm.open_mainfile(filepath=str(absolute_path(file)), load_ui=False))
