# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: its arguments, its actions and its output."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import ctypes
import io
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from math import ceil
from pathlib import Path
from typing import Any

import bpy

from ..core import sweep_options
from ..core.errors import INTERRUPTED, JobInUseError, SuppleError
from ..core.job import Job, lock
from ..core.job.parent import stop_when_input_closes
from ..core.results import RESULTS, in_order
from ..core.scene.integrator_table import INTEGRATORS
from . import actions, runs
from .bake import shape_keys
from .bake_run import AUTOMATIC, KINDS
from .batch import report, shots
from .batch.run import Batch
from .capture.objects import left_out, soft_bodies
from .capture.scene import capture, played_range, simulated_range
from .farm import flamenco
from .farm import submit as farm_submit
from .farm.farm_job import FarmJob
from .farm_formats import FORMATS, OPEN_JOB
from .fits.table import TOOLS
from .playback import mesh_cache, rendered
from .settings.assign import assign, check_name
from .worker import solver_environment, solver_install


def parsed_frames(text: str) -> tuple[int, int]:
    """Parse a range of frames: ``1-60`` as (1, 60), ``7`` as (7, 7)."""
    match = re.fullmatch(r"(-?\d+)(?:-(-?\d+))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a frame range such as 1-60")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it starts")
    return first, last


def parsed_count(text: str) -> int:
    """Parse a number of frames: ``12`` as 12."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number such as 24")
    return int(text)


def parsed_step(text: str) -> int:
    """Parse a frame step: ``2`` as 2."""
    if not (step := parsed_count(text)):
        raise argparse.ArgumentTypeError("the frame step must be at least 1")
    return step


def parsed_results(text: str) -> tuple[str, ...]:
    """``speed,stretch`` as the names of results."""
    try:
        return in_order(text.split(","))
    except SuppleError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def parsed_setting(text: str) -> tuple[str, str]:
    """Parse a setting: ``Cube.young=2e4`` as its name and its value."""
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not a setting such as Cube.young=2e4")
    try:
        check_name(name)
    except SuppleError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return name, value


# Kinds of options.
_FOLDER: dict[str, Any] = {"type": Path, "metavar": "FOLDER"}
_FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}
_STEPS: dict[str, Any] = {"type": parsed_step, "metavar": "N"}
_COUNT: dict[str, Any] = {"type": parsed_count, "metavar": "N"}


def file_options(with_file: bool) -> argparse.ArgumentParser:
    """The options for the file and its scene.

    Args:
        with_file: whether the command line names them; else Blender has opened the file.
    """
    options = argparse.ArgumentParser(add_help=False)
    if with_file:
        options.add_argument("file", type=Path, help="the .blend file")
        # Blender has a word of its own for it.
        options.add_argument(
            "--scene", metavar="NAME", help="scene to use; default: the scene of the file's window"
        )
    return options


def common_options(with_file: bool) -> argparse.ArgumentParser:
    """The options of all commands that simulate.

    Args:
        with_file: whether the .blend file is one of them.
    """
    common = argparse.ArgumentParser(add_help=False, parents=[file_options(with_file)])
    common.add_argument(
        "--frames",
        type=parsed_frames,
        metavar="A-B",
        help=(
            "first and last frame; write --frames=-5-60 for a negative first frame; default: the "
            "frame range of the file"
        ),
    )
    common.add_argument(
        "--pre-roll", **_COUNT, help="frames to simulate before the first one, without showing them"
    )
    common.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        help="device that computes the simulation; auto chooses",
    )
    common.add_argument(
        "--integrator",
        choices=INTEGRATORS,
        metavar="NAME",
        help=f"integrator of the scene: {', '.join(INTEGRATORS)}",
    )
    common.add_argument("--substeps", **_COUNT, help="time steps per frame; 0 chooses the number")
    common.add_argument(
        "--results",
        type=parsed_results,
        metavar="NAMES",
        help=f"fields to record, separated by commas without spaces: {', '.join(RESULTS)}",
    )
    common.add_argument("--cache", **_FOLDER, help="folder for the simulated frames")
    common.add_argument(
        "--set",
        type=parsed_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=(
            "setting for this run, of an object (Cube.young=2e4) or of the scene "
            "(ground_height=0.1); repeat it for more settings"
        ),
    )
    return common


def report_options() -> argparse.ArgumentParser:
    """The options of commands that a batch runs."""
    reporting = argparse.ArgumentParser(add_help=False)
    reporting.add_argument(
        "--report", **_FILE, help="write the result to a JSON file, with a picture beside it"
    )
    reporting.add_argument(
        "--stop-with-parent", action="store_true", help="stop when standard input closes"
    )
    return reporting


_ON_DISK = "supple_as_on_disk"
_PNG_END = b"IEND\xae\x42\x60\x82"


def print_all() -> None:
    """Print names with letters that a pipe cannot encode, or with undecodable bytes, in escaped
    form."""
    codecs.register_error(_ON_DISK, _as_on_disk)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ON_DISK)


def _as_on_disk(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError):
        with contextlib.suppress(UnicodeEncodeError):
            broken = error.object[error.start : error.end]
            return broken.encode("ascii", errors="surrogateescape"), error.end
    return codecs.backslashreplace_errors(error)


def output_file(path: Path | None, ending: str) -> Path:
    """The .blend file to be written, in a folder that takes it; by default beside the open one.

    Raises:
        SuppleError: when it cannot be.
    """
    output = _beside(path, ending)
    if output.is_dir():
        raise SuppleError(f"{output} is a folder. Name a file as --output.")
    if _is_open(output):
        raise SuppleError(
            f"{output} is the opened file, which is not overwritten. Name another file as --output."
        )
    _made_folder(output.parent)
    return output


def output_folder(path: Path | None) -> Path:
    """The folder for rendered images, made where it is missing."""
    return _made_folder(_beside(path, "_frames"))


def saved(output: Path) -> Path:
    """Save a copy of the open file and return its path."""
    try:
        finished(bpy.ops.wm.save_as_mainfile(filepath=str(output), copy=True))
    except RuntimeError as error:
        # On a full disk Blender reports a missing file.
        raise SuppleError(
            f"{output} was not saved. Free some space on its disk, or choose another --output; the "
            f"frames are kept. Blender says: {str(error).removeprefix('Error: ')}"
        ) from error
    return output


def check_camera(scene: bpy.types.Scene) -> None:
    """Refuse a scene without a usable camera before it is simulated.

    Raises:
        SuppleError: when Blender would refuse to render, after all is simulated.
    """
    cameras = [scene.camera, *(marker.camera for marker in scene.timeline_markers)]
    has_strips = scene.sequence_editor is not None and len(scene.sequence_editor.strips_all) > 0
    if not any(cameras) and not has_strips:
        raise SuppleError(
            f"The scene {scene.name} has no camera to render. Choose one in its properties."
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
        # For missing frames, Blender reports an image that it cannot write.
        problem = _why_without_frames(scene)
        if not problem:
            raise
    else:
        problem = next(
            filter(None, map(_incomplete_image_reason, images)), ""
        ) or _why_without_frames(scene)
    if problem:
        for each in images:
            each.unlink(missing_ok=True)
        raise SuppleError(problem)


def _why_without_frames(scene: bpy.types.Scene) -> str:
    """Return the reason why a body was rendered at rest; empty where none was."""
    return next(filter(None, map(rendered.why_without_frames, rendered.objects(scene))), "")


def _views(render: bpy.types.RenderSettings, image: Path) -> list[Path]:
    """The files that Blender writes: one an eye where it renders in stereo."""
    if not render.use_multiview or render.image_settings.views_format != "INDIVIDUAL":
        return [image]
    suffixes = [view.file_suffix for view in render.views if view.use]
    return [image.with_name(f"{image.stem}{suffix}{image.suffix}") for suffix in suffixes]


def _incomplete_image_reason(image: Path) -> str:
    if not image.is_file():
        return f"{image} was not written. See Blender's own messages above."
    if not image.read_bytes().endswith(_PNG_END):
        return f"{image} was not written whole. Free some space on its disk, then render again."
    return ""


def finished(result: set[str]) -> None:
    """Refuse to go on after an operator that did not finish.

    Raises:
        SuppleError: when one of Blender's operators did not finish.
    """
    if "FINISHED" not in result:
        raise SuppleError("Blender did not finish; its own messages are above.")


def absolute_path(path: Path) -> Path:
    return Path.cwd() / path


def _beside(path: Path | None, ending: str) -> Path:
    file = Path(bpy.data.filepath)
    if path is None and not bpy.data.is_saved:
        raise SuppleError("No .blend file is open. Name one before --command, or an --output.")
    return absolute_path(path or file.with_name(file.stem + ending))


def _is_open(path: Path) -> bool:
    """Whether a path leads to the open .blend file, through any links."""
    try:
        return path.samefile(bpy.data.filepath)
    except OSError:  # one of them is not there
        return False


def _made_folder(folder: Path) -> Path:
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


Action = Callable[[argparse.Namespace], None]

STOPPED = "stopped. The frames so far are kept, and the same command resumes."

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
    if getattr(options, "stop_with_parent", False):
        stop_when_input_closes()
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
        # Errors that Blender's operators report arrive as RuntimeError.
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
        # None stands for a handler that Python did not install.
        if before is not None:
            signal.signal(signal.SIGINT, before)


# The commands


def parser(program: str, with_file: bool) -> argparse.ArgumentParser:
    described = argparse.ArgumentParser(
        prog=program, description=("Simulate, bake and render soft bodies without a window.")
    )
    commands = described.add_subparsers(required=True, metavar="COMMAND")
    common, reporting = common_options(with_file), report_options()
    simulate_command = commands.add_parser(
        "simulate",
        parents=[common, reporting],
        help="simulate into the cache; resumes an earlier run of the same scene",
    )
    simulate_command.set_defaults(action=simulate)
    bake_command = commands.add_parser(
        "bake",
        parents=[common, reporting],
        help=("simulate missing frames, bake shape keys and save the file"),
    )
    bake_command.add_argument(
        "--output", **_FILE, help="file to save; default: <name>_baked.blend beside the file"
    )
    bake_command.add_argument(
        "--step",
        **_STEPS,
        default=1,
        help="number of frames between keys; the last frame always has a key; default: 1",
    )
    bake_command.add_argument(
        "--keys",
        choices=[name for name, *_ in KINDS],
        default=AUTOMATIC,
        help=(
            "kind of shape keys: file plays fastest, export suits glTF and FBX, automatic exports "
            "unless so many keys would play too slowly"
        ),
    )
    bake_command.set_defaults(action=bake)
    render_command = commands.add_parser(
        "render",
        parents=[common, reporting],
        help="simulate missing frames up to the last one, unless baked, and render PNG images",
    )
    render_command.add_argument(
        "--output", **_FOLDER, help="folder for the images; default: <name>_frames beside the file"
    )
    render_command.set_defaults(action=render)
    tool = argparse.ArgumentParser(add_help=False)
    tool.add_argument(
        "tool", choices=TOOLS, metavar="TOOL", help=f"tool to run: {', '.join(TOOLS)}"
    )
    find_command = commands.add_parser(
        "find",
        parents=[tool, common],
        help=(
            "find a rest shape, a throw, a stiffness or forces for a soft body, and save the file "
            "with it"
        ),
    )
    find_command.add_argument(
        "--object", metavar="NAME", help="soft body to use; default: the only soft body"
    )
    find_command.add_argument(
        "--output", **_FILE, help="file to save; default: <name>_found.blend beside the file"
    )
    find_command.set_defaults(action=find)
    sweep_command = commands.add_parser(
        "sweep",
        parents=[common],
        help="simulate with many settings from a TOML or JSON list, here or on a Dask cluster",
    )
    sweep_command.add_argument("list", type=Path, help="TOML or JSON list of settings")
    sweep_command.add_argument(
        "--output", **_FOLDER, help="folder of the sweep; default: <list>_sweep beside the list"
    )
    sweep_options.add_options(sweep_command)
    sweep_command.set_defaults(action=sweep)
    batch_command = commands.add_parser(
        "batch", help="simulate, bake or render many shots from a TOML or JSON list"
    )
    batch_command.add_argument("list", type=Path, help="TOML or JSON list of shots")
    batch_command.add_argument(
        "--report", **_FOLDER, help="folder of the report; default: <list>_report beside the list"
    )
    batch_command.add_argument(
        "--jobs", **_STEPS, help="number of shots to run at a time; default: as many as fit"
    )
    batch_command.add_argument("--again", action="store_true", help="also run finished shots")
    batch_command.set_defaults(action=batch)
    submit_command = commands.add_parser(
        "submit",
        parents=[file_options(with_file)],
        help="write a job for a render farm, or submit it to Flamenco",
    )
    submit_command.add_argument(
        "--farm", choices=[name for name, *_ in FORMATS], default=OPEN_JOB, help="format of the job"
    )
    submit_command.add_argument("--chunk", **_STEPS, help="number of frames that one task renders")
    submit_command.add_argument(
        "--manager",
        default="",
        metavar="URL",
        help="address of the Flamenco manager, such as http://flamenco:8080",
    )
    submit_command.add_argument(
        "--output", **_FOLDER, help="folder of the job; default: <name>_job beside the file"
    )
    submit_command.set_defaults(action=submit)
    job_type_command = commands.add_parser(
        "job-type", help="copy the job type into the folder of a Flamenco manager"
    )
    job_type_command.add_argument(
        "folder", type=Path, help="folder scripts beside the program of the manager"
    )
    job_type_command.set_defaults(action=job_type)
    install_command = commands.add_parser("install", help="install the solver's packages")
    install_command.add_argument(
        "--packages", **_FOLDER, help="folder with the packages, for machines without a network"
    )
    install_command.set_defaults(action=install)
    about = "check what the solver needs on this machine"
    commands.add_parser("doctor", help=about).set_defaults(action=doctor)
    return described


# Actions of the commands


def simulate(options: argparse.Namespace) -> None:
    """Simulates the scene and prints where the job folder is."""
    _set_up(options)
    folder = _simulated()
    _conclude(options, folder, folder)


def bake(options: argparse.Namespace) -> None:
    """Simulates, bakes and saves."""
    _set_up(options)
    output = output_file(options.output, "_baked.blend")
    folder = _simulated()
    _log(actions.bake(bpy.context, options.step, options.keys))
    _conclude(options, saved(output), folder)


def render(options: argparse.Namespace) -> None:
    """Renders the frames as PNG images with the scene's own engine."""
    scene = bpy.context.scene
    _apply(options)
    first, last = options.frames or (scene.frame_start, scene.frame_end)
    bodies = _soft_bodies()
    check_camera(scene)
    folder, simulated = output_folder(options.output), None
    with contextlib.ExitStack() as stack:
        if not all(map(shape_keys.has_bake, bodies)):
            frames = played_range(scene)
            # Motion blur reads later frames, at least one after the start.
            blurred = ceil(scene.render.motion_blur_shutter) if scene.render.use_motion_blur else 0
            end = max(last, min(last + blurred, frames[-1]))
            _simulate_from_to(frames.start, max(end, frames.start + 1))
            # Parts of a shot are rendered from one file.
            simulated = _simulated(may_go_on=True)
            stack.enter_context(lock.show(simulated))
        for frame in range(first, last + 1):
            scene.frame_set(frame)
            render_image(scene, folder / f"{frame:04d}.png")
            _log(f"Rendered frame {frame} of {first}-{last}")
    _conclude(options, folder, simulated)


def find(options: argparse.Namespace) -> None:
    """Search for the goal of a soft body, apply the result and save."""
    _set_up(options)
    output = output_file(options.output, "_found.blend")
    bodies = {obj.name: obj for obj in _soft_bodies()}
    name = options.object or (next(iter(bodies)) if len(bodies) == 1 else "")
    if name not in bodies:
        raise SuppleError(f"Name a soft body by --object: {', '.join(bodies)}.")
    _log(actions.find(bpy.context, bodies[name], options.tool, _log))
    _conclude(options, saved(output))


def sweep(options: argparse.Namespace) -> None:
    """Simulate with many settings, in the solver's Python."""
    _set_up(options)
    captured = capture(bpy.context)
    output = absolute_path(options.output or options.list.with_name(f"{options.list.stem}_sweep"))
    with tempfile.TemporaryDirectory() as scene:
        Job.create(Path(scene), captured.scene, captured.settings)
        where = sweep_options.arguments_of(options)
        arguments = [scene, str(absolute_path(options.list)), "--output", str(output), *where]
        command, environment = solver_environment.worker_command("sweep", *arguments)
        reason = ""
        with subprocess.Popen(
            [*command, "--stop-with-parent"],
            env=environment,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            creationflags=solver_environment.NO_CONSOLE,
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if line.startswith("error: "):
                    reason = line.removeprefix("error: ")
                else:
                    print(line, end="", file=sys.stderr, flush=True)
        if process.returncode:
            raise SuppleError(reason or f"The sweep ended with status {process.returncode}.")


def batch(options: argparse.Namespace) -> None:
    """Run the shots of a list, and report on them."""
    described = parser("supple", with_file=False)

    def problem(arguments: Sequence[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
            described.parse_args(arguments)
        return printed.getvalue().rpartition("error: ")[2].strip()

    listed = shots.read(options.list, problem)
    path = options.list
    folder = absolute_path(options.report or path.with_name(f"{path.stem}_report"))
    run = Batch(listed, folder, f"Batch {path.name}", options.jobs, options.again)
    run.run(_log)
    failed = [outcome.name for outcome in run.outcomes if outcome.state == report.FAILED]
    _print_last(folder / "index.html")
    if failed:
        raise SuppleError(
            f"{len(failed)} of {len(listed)} shots failed: {', '.join(failed)}. The report names "
            "the reasons; the same command runs them again."
        )


def submit(options: argparse.Namespace) -> None:
    """Write a job for a farm, or submit it."""
    scene = bpy.context.scene
    job = FarmJob.from_scene(scene, options.chunk or scene.supple.farm_chunk)
    folder = _beside(options.output, "_job")
    _log(farm_submit.submit(job, options.farm, folder, options.manager))
    if not options.manager:
        _print_last(folder)


def job_type(options: argparse.Namespace) -> None:
    """Copy the job type of Flamenco."""
    _print_last(flamenco.copy_job_type(absolute_path(options.folder)))


def install(options: argparse.Namespace) -> None:
    """Install the solver's packages."""
    packages = None if options.packages is None else absolute_path(options.packages)
    solver_install.install(_log, packages)
    environment = solver_environment.find()
    assert environment is not None and environment.site is not None
    _print_last(environment.site)


def doctor(_: argparse.Namespace) -> None:
    """Print the solver's findings; an error when something is missing."""
    from .reports.doctor import examine, formatted

    findings = examine()
    print(formatted(findings), flush=True)
    problems = [finding for finding in findings if finding.cure]
    if problems:
        raise SuppleError(f"{problems[0].what}: {problems[0].cure}")


def _set_up(options: argparse.Namespace) -> None:
    """Apply the options to the scene, the frames to simulate among them."""
    _apply(options)
    if options.frames:
        _simulate_from_to(*options.frames)


def _apply(options: argparse.Namespace) -> None:
    props = bpy.context.scene.supple
    for name, value in options.set:
        assign(bpy.context.scene, name, value)
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
    """Simulate the missing frames, or wait for a process that does. Returns the job folder once it
    holds every frame."""
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
    logged_count = -1
    while holder := lock.holder(folder):
        if (frames := Job(folder).last_frame() + 1) != logged_count:
            _log(f"Waiting for {holder}, which simulates the same: {frames} frames so far")
            logged_count = frames
        time.sleep(runs.LOG_SECONDS)


def _conclude(options: argparse.Namespace, result: Path, folder: Path | None = None) -> None:
    """Write the report on a command, if requested, and print the path of its result."""
    if getattr(options, "report", None) is not None:
        start = simulated_range(bpy.context.scene).start
        report.write_result(absolute_path(options.report), folder, start, result)
    _print_last(result)


def _print_last(result: Path) -> None:
    """Print the path of a result as the last line, for scripts."""
    # In a pipe, Blender's own output would otherwise come after it, at exit.
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)
    print(result, flush=True)


def _check_opened() -> None:
    """Refuse to go on without the requested file.

    Raises:
        SuppleError: when Blender goes on with its startup file, since it cannot read the one that
            it was given.
    """
    before = takewhile(lambda word: word not in ("-c", "--command"), sys.argv[1:])
    file = next((word for word in before if Path(word).suffix.lower() == ".blend"), None)
    if file is not None and not bpy.data.is_saved:
        raise SuppleError(f"Blender cannot read {file}; its own messages are above.")


def _choose_scene(name: str) -> None:
    scene = bpy.data.scenes.get(name)
    if scene is None:
        there = ", ".join(each.name for each in bpy.data.scenes)
        raise SuppleError(f"The file has no scene {name}. Name one of these as --scene: {there}.")
    bpy.context.window.scene = scene


def _log(message: str) -> None:
    print(f"Supple: {message}", flush=True)


def _soft_bodies() -> list[bpy.types.Object]:
    bodies = soft_bodies(bpy.context)
    if not bodies:
        none = "The scene has no soft body. Add one in Blender first."
        raise SuppleError(" ".join(left_out(bpy.context)) or none)
    return bodies


def _open(file: Path) -> None:
    if not file.is_file():
        raise SuppleError(f"{file} {'is a folder' if file.is_dir() else 'does not exist'}.")
    finished(bpy.ops.wm.open_mainfile(filepath=str(absolute_path(file)), load_ui=False))
