# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a sweep, in a process that may do many. It reads nothing but the sweep's folder."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import queue
import sys
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from ..compiled import limit_threads
from ..errors import JobError, JobInUseError, SceneError, SuppleError
from ..job import OUTPUT, Job, digest, memory, picture
from ..job.files import read_json, write_json
from ..job.parent import PARENT_ENDED
from ..job.worker import work
from ..version import version
from .folder import DISK, MEASURES, PICTURE, PLAN, RUNS, SCENE, SCRIPT, VERSION, Row
from .measures import measure, script_mark
from .plan import Sweep
from .variants import changed

_WAIT_SECONDS = 0.2
_FULL = (errno.ENOSPC, errno.EDQUOT)


def run_one(request: dict[str, Any]) -> Row:
    """Do one run of a sweep, unless it is done.

    Args:
        request: the ``folder`` of the sweep, the ``index`` of the run, and the required
            ``version`` of Supple.
    """
    if request["version"] != version():
        reason = f"it runs Supple {version()}, and the sweep needs {request['version']}"
        return {"error": reason, "unfit": VERSION}
    folder, index = Path(request["folder"]), int(request["index"])
    row: Row = {}
    try:
        base, sweep = _opened(folder, (folder / PLAN).stat().st_mtime_ns)
        row = dict(sweep.values(index))
        scene, settings = changed(base.scene, base.settings, row)
        row["run"] = name = digest(scene, settings)
        return row | _measured(folder, Job(folder / RUNS / name), scene, settings, sweep)
    except SuppleError as error:
        cause = error.__cause__
        is_full = isinstance(cause, OSError) and cause.errno in _FULL
        unfit = DISK if is_full else ""
        return row | {"error": str(error), "unfit": unfit}
    except (MemoryError, RuntimeError) as error:
        if not memory.is_shortage(error):
            raise
        return row | {"error": memory.shortage_message(error)}


def _measured(folder: Path, job: Job, scene: Any, settings: Any, sweep: Sweep) -> Row:
    script = folder / SCRIPT if (folder / SCRIPT).exists() else None
    measures_path = job.folder / MEASURES
    key = [version(), settings.frame_count, script_mark(script)]
    if measures_path.exists():
        with contextlib.suppress(SuppleError):
            content = read_json(measures_path)
            if content["key"] == key:
                return dict(content["measures"])
    limit_threads(sweep.threads)
    torch.set_num_threads(sweep.threads)
    Job.create(job.folder, scene, settings)
    # Its end is that of another process: done, dead or taken over.
    while True:
        try:
            with (job.folder / OUTPUT).open("a") as output, contextlib.redirect_stdout(output):
                work(job.folder)
            break
        except JobInUseError:
            time.sleep(_WAIT_SECONDS)
    job = Job(job.folder)
    measures = measure(job, script)
    picture.write_png(job.folder / PICTURE, picture.draw_frame(job, settings.frame_count))
    write_json(measures_path, {"key": key, "measures": measures})
    return measures


@lru_cache(maxsize=1)
def _opened(folder: Path, _changed_at: int) -> tuple[Job, Sweep]:
    """The scene and the plan of a sweep; all runs of a process read them once."""
    try:
        content = read_json(folder / PLAN)["sweep"]
        return Job(folder / SCENE), Sweep.of(content)
    except (KeyError, TypeError, SceneError) as error:
        raise JobError(f"{folder / PLAN} is no plan of a sweep: {error}.") from error


def serve() -> None:
    """Do the runs requested on standard input, a line of JSON each, and answer with a row each.
    Ends this process when standard input closes."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # The output of packages must not mix with the answers.
    os.dup2(2, 1)
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            requests.put(line)
        os._exit(PARENT_ENDED)

    threading.Thread(target=read, daemon=True).start()
    while True:
        row = run_one(json.loads(requests.get()))
        answers.write(json.dumps(row) + "\n")
        answers.flush()
