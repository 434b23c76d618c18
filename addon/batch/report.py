# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on a batch: ``report.json`` for programs, ``index.html`` to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...core import page
from ...core.errors import SuppleError
from ...core.job import Job, memory, picture
from ...core.job.files import read_json, write_json
from ...core.job.log import most_contacts, total_seconds
from ...core.version import version
from ..reports import run_reports

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"


@dataclass
class Outcome:
    """The state of one shot.

    Args:
        name, file, command: of the shot.
        state: ``waiting``, ``running``, ``done`` or ``failed``.
        output: the written file or folder; of ``simulate`` the job folder.
        seconds: of simulation.
        frames: their number.
        contacts: the most of any frame.
        warnings: sentences.
        error: why it failed; empty where it did not.
        picture: the name of the file beside the report; empty for none.
        job: the job folder.
        peak_bytes: the most memory that a process of the shot took; None where it is not known.
    """

    name: str
    file: str
    command: str
    state: str = WAITING
    output: str = ""
    seconds: float = 0.0
    frames: int = 0
    contacts: int = 0
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    picture: str = ""
    job: str = ""
    peak_bytes: int | None = None


def write_result(path: Path, folder: Path | None, start_frame: int, output: Path) -> None:
    """Write the result of one command, with a picture of its last frame beside it.

    Args:
        path: of the JSON file.
        folder: the job folder; None where all was baked before.
        start_frame: the timeline's number of its first frame.
        output: the file or folder that the command wrote.
    """
    result: dict[str, Any] = {"output": str(output), "peak_bytes": memory.peak_with_children()}
    if folder is not None:
        job = Job(folder)
        records = job.records()
        image = path.with_suffix(".png")
        picture.write_png(image, picture.draw_frame(job, job.last_frame()))
        report = run_reports.read(job, start_frame)
        result |= {
            "job": str(folder),
            "frames": job.last_frame(),
            "seconds": round(total_seconds(records), 3),
            "contacts": most_contacts(records),
            "warnings": [f"{report.warning}."] if report.warning else [],
            "picture": image.name,
        }
    write_json(path, result)


def read_result(path: Path, outcome: Outcome) -> bool:
    """Read the result of a command; False where it did not come to its end."""
    if not path.exists():
        return False
    try:
        result = read_json(path)
    except SuppleError:  # cut off or damaged: the shot is run again
        return False
    if not Path(result["output"]).exists():
        return False
    for name, value in result.items():
        if name in Outcome.__dataclass_fields__:
            setattr(outcome, name, value)
    outcome.state = DONE
    return True


def write(folder: Path, title: str, outcomes: Sequence[Outcome]) -> None:
    """Write the report and the page."""
    states = [outcome.state for outcome in outcomes]
    counts = {state: states.count(state) for state in (DONE, FAILED, RUNNING, WAITING)}
    content = {"version": version(), **counts, "shots": [asdict(each) for each in outcomes]}
    write_json(folder / "report.json", content)
    summary = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    body = f"<p>{summary}</p>{page.cards([_card(outcome) for outcome in outcomes])}"
    page.write(folder / "index.html", title, body)


def _card(outcome: Outcome) -> str:
    lines = [f"<b>{page.text(outcome.name)}</b> {page.text(outcome.state)}"]
    if outcome.frames:
        lines.append(
            f"{outcome.frames + 1} frames, {outcome.seconds:.1f} s, {outcome.contacts} contacts"
        )
    if outcome.error:
        lines.append(f'<span class="failed">{page.text(outcome.error)}</span>')
    lines += [f'<span class="warning">{page.text(each)}</span>' for each in outcome.warnings]
    return page.card(outcome.picture, lines)
