# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m looks [BODY …]``: measures and renders the bodies and writes docs/looks.md.

Each scene is kept as it is done: a run that was stopped goes on where it was. With ``--quick`` one
scene is measured and printed beside the kept figures, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import supple
from supple.benchmarks.store import version
from supple.core.errors import SuppleError

from . import page, pictures
from .measure import Figures, figures, simulate
from .scenes import ACTIONS, SAGS, SCENARIOS, Action, Scenario
from .shapes import SHAPES

#: What shows the figures, and what they depend on.
SHOWING = ("__main__.py", "page.py", "pictures.py")
SOURCES = ("core", "addon", "looks", *(f":!looks/{name}" for name in ("results", *SHOWING)))
QUICK: tuple[Action, int] = ("drop", 40)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parsed(arguments)
    supple.register()
    if asked.quick:
        return quick(asked)
    # Loads torch, which a quick look does without.
    from supple.benchmarks.machine import describe

    state = page.REFERENCES if asked.references else page.BEFORE if asked.before else page.NOW
    present, began = version(sources=SOURCES), time.monotonic()
    stored = page.store(state)
    stored.figures["machine"] = describe()
    for scenario in chosen(asked):
        if stored.is_done(page.NAME, scenario.name, present) and not asked.again:
            print(f"{scenario.name}: measured at {present} already", flush=True)
            continue
        if asked.minutes is not None and time.monotonic() - began > 60.0 * asked.minutes:
            print(f"{scenario.name}: no time left", flush=True)
            continue
        picture = None if asked.references or asked.no_pictures else state
        measured = stored.measure(
            page.NAME, scenario.name, partial(run, scenario, picture), present
        )
        print(f"{scenario.name}: {_in_words(measured)}", flush=True)
    page.write()
    print(f"\nWritten to {page.PAGE}")
    return 0


def quick(asked: argparse.Namespace) -> int:
    """Measures one scene and prints it."""
    action: Action = asked.action or QUICK[0]
    sag = asked.sag or QUICK[1]
    scenario = Scenario((asked.names or list(SHAPES))[0], action, sag)
    all_figures = page.Kept.read()
    results = {scenario.name: run(scenario, picture=None, path=asked.picture)}
    print(f"\n{scenario.body}, before → now")
    for head, row in (
        (page.FILLING_HEAD, page.filling(scenario.body, all_figures.before, results)),
        (page.SCENE_HEAD, page.rows([scenario], all_figures.before, results, all_figures)[0]),
    ):
        width = max(map(len, head))
        print("\n".join(f"  {name:{width}}  {cell}" for name, cell in zip(head, row, strict=True)))
    return 1 if "failed" in results[scenario.name] else 0


def run(scenario: Scenario, picture: str | None, path: Path | None = None) -> Figures:
    """The figures of a scene, or why it could not be simulated.

    Args:
        picture: the state that a picture for the page is of; None takes none.
        path: of a picture of the worst frame, if one is wanted.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            simulated = simulate(scenario, Path(folder))
        except SuppleError as error:
            return {"failed": str(error)}
        result = figures(simulated)
        if picture is not None and (scenario.action, scenario.sag) in pictures.PICTURED:
            path = pictures.PICTURES / pictures.file_name(scenario.body, scenario.action, picture)
        if path is not None:
            pictures.take(simulated, int(result["worst_frame"]), path.absolute())
    return result


def chosen(asked: argparse.Namespace) -> Iterator[Scenario]:
    for scenario in SCENARIOS:
        is_asked = not asked.names or scenario.body in asked.names
        if (
            is_asked
            and asked.action in (None, scenario.action)
            and asked.sag in (None, scenario.sag)
        ):
            yield replace(scenario, is_reference=asked.references)


def _in_words(result: Figures) -> str:
    if "failed" in result:
        return f"failed, {result['failed']}"
    return ", ".join(f"{name} {result[name]}" for name in page.SCENE_FIGURES)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m looks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="BODY", help=", ".join(SHAPES))
    parser.add_argument("--action", choices=ACTIONS)
    parser.add_argument("--sag", type=int, choices=SAGS, help="in percent of the height")
    parser.add_argument("--quick", action="store_true", help="one scene, printed; writes nothing")
    parser.add_argument("--picture", type=Path, help="with --quick: render the worst frame into it")
    parser.add_argument("--no-pictures", action="store_true", help="render none")
    parser.add_argument("--again", action="store_true", help="what is measured already, too")
    parser.add_argument("--minutes", type=float, help="begin no scene later than this")
    parser.add_argument("--before", action="store_true", help="keep as what stands for comparison")
    parser.add_argument(
        "--references", action="store_true", help="at three times the resolution; takes hours"
    )
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in SHAPES]
    if unknown:
        parser.error(f"there is no body {unknown[0]!r}; there are {', '.join(SHAPES)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
