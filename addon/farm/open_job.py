# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs in the format Open Job Description, which many farms read.

A job is a folder: ``template.json`` with its three steps, and the values of its parameters, as
``parameter_values.json`` for AWS Deadline Cloud and as ``parameters.json`` for ``openjd run``.
Paths are parameters of the type PATH, which farms map to those of each machine.

Source: Open Job Description, specification 2023-09, with its extension TASK_CHUNKING.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy

from .farm_job import FarmJob, write_files

TEMPLATE, VALUES, DEADLINE_VALUES = "template.json", "parameters.json", "parameter_values.json"
_FILES = {"File": "IN", "Baked": "OUT"}
_FOLDERS = {"Cache": "INOUT", "Images": "OUT"}
_TEXTS = {
    "File": "The .blend file with soft bodies",
    "Baked": "The baked .blend file to make",
    "Cache": "The folder for simulated frames",
    "Images": "The folder for rendered images",
}


def template(job: FarmJob) -> dict[str, Any]:
    """The template of a job, as a JSON object."""
    simulate = _step("Simulate", "simulate", "File", ["--cache", "{{Param.Cache}}"])
    to_baked = ["--cache", "{{Param.Cache}}", "--output", "{{Param.Baked}}"]
    bake = _step("Bake", "bake", "File", to_baked, after="Simulate")
    render = _step(
        "Render",
        "render",
        "Baked",
        ["--frames={{Task.Param.Frames}}", "--output", "{{Param.Images}}"],
        after="Bake",
    )
    render["parameterSpace"] = {
        "taskParameterDefinitions": [
            {
                "name": "Frames",
                "type": "CHUNK[INT]",
                "range": "{{Param.Frames}}",
                "chunks": {
                    "defaultTaskCount": "{{Param.FramesPerTask}}",
                    "rangeConstraint": "CONTIGUOUS",
                },
            }
        ]
    }
    return {
        "specificationVersion": "jobtemplate-2023-09",
        "extensions": ["TASK_CHUNKING"],
        "name": "{{Param.Name}}",
        "parameterDefinitions": [
            {"name": "Name", "type": "STRING", "default": "Supple"},
            *(_path(name, "FILE", flow) for name, flow in _FILES.items()),
            *(_path(name, "DIRECTORY", flow) for name, flow in _FOLDERS.items()),
            {"name": "Frames", "type": "STRING", "default": job.frame_range},
            {"name": "FramesPerTask", "type": "INT", "default": job.chunk, "minValue": 1},
            {
                "name": "Program",
                "type": "STRING",
                "default": ("python3" if bpy.app.module else "blender"),
                "description": "The program on the farm's machines",
            },
        ],
        "steps": [simulate, bake, render],
    }


def values(job: FarmJob) -> dict[str, str | int]:
    """The values of the parameters of a job."""
    return {
        "Name": job.name,
        "File": str(job.file),
        "Cache": str(job.cache),
        "Baked": str(job.baked),
        "Images": str(job.images),
        "Frames": job.frame_range,
        "FramesPerTask": job.chunk,
    }


def write(job: FarmJob, folder: Path) -> Path:
    """Write a job into a folder; returns its template.

    Raises:
        SuppleError: the folder cannot be written.
    """
    pairs = [{"name": name, "value": value} for name, value in values(job).items()]
    contents = {
        TEMPLATE: template(job),
        VALUES: values(job),
        DEADLINE_VALUES: {"parameterValues": pairs},
    }
    write_files(folder, contents)
    return folder / TEMPLATE


def _path(name: str, kind: str, flow: str) -> dict[str, str]:
    described = {"name": name, "type": "PATH", "description": _TEXTS[name]}
    return {**described, "objectType": kind, "dataFlow": flow}


def _step(
    name: str, command: str, file: str, arguments: list[str], after: str | None = None
) -> dict[str, Any]:
    file = f"{{{{Param.{file}}}}}"
    begin = ["-m", "supple", command, file]
    if not bpy.app.module:
        begin = [file, "--command", "supple", command]
    action = {"command": "{{Param.Program}}", "args": [*begin, *arguments]}
    step: dict[str, Any] = {"name": name, "script": {"actions": {"onRun": action}}}
    if after is not None:
        step["dependencies"] = [{"dependsOn": after}]
    return step
