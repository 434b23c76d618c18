# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m benchmarks [NAME …]``: runs the benchmarks and keeps their figures as JSON.

Each is made of parts, kept as they finish. A run that was stopped goes on where it was: a part
that was measured at the present commit is left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import (
    capture,
    contact,
    devices,
    explicit_substep,
    fine_parts,
    first_frame,
    gradients,
    gradients_beside,
    heap,
    implicit_frame,
    integrators,
    jiggle,
    lone_body,
    monkey_heap,
    pile_beside_engines,
    shape_keys,
    sweep_scaling,
    time_against_tets,
    time_stepping,
)
from .machine import describe, file_name
from .store import RESULTS, WHOLE, Store, version

Parts = dict[str, Callable[[], Any]]


def _whole(run: Callable[[], Any]) -> Parts:
    return {WHOLE: run}


#: The quick ones first, then those of many minutes, the most telling parts of each first.
BENCHMARKS: dict[str, Parts] = {
    "explicit_substep": explicit_substep.parts(),
    "implicit_frame": implicit_frame.parts(),
    "gradients": gradients.parts(),
    "gradients_beside": gradients_beside.parts(),
    "integrators": _whole(integrators.run),
    "contact": _whole(contact.run),
    "lone_body": lone_body.parts(),
    "jiggle": jiggle.parts(),
    "fine_parts": fine_parts.parts(),
    "heap": _whole(heap.run),
    "monkey_heap": _whole(monkey_heap.run),
    "pile_beside_engines": pile_beside_engines.parts(),
    "devices": devices.parts(),
    "first_frame": _whole(first_frame.run),
    "shape_keys": _whole(shape_keys.run),
    "capture": _whole(capture.run),
    "sweep_scaling": _whole(sweep_scaling.run),
    "time_against_tets": time_against_tets.parts(),
    "time_stepping": time_stepping.parts(),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="default: all")
    parser.add_argument("--part", default="", help="only parts with this in their name")
    parser.add_argument("--again", action="store_true", help="measure what is done, too")
    parser.add_argument("--minutes", type=float, help="begin no part later than this")
    parser.add_argument("--list", action="store_true", help="name the parts, and measure nothing")
    asked = parser.parse_args(arguments)
    machine, present, began = describe(), version(), time.monotonic()
    store = Store.open(RESULTS / f"{file_name(machine)}.json")
    for name, part, run in chosen(asked.names or list(BENCHMARKS), asked.part):
        done = store.is_done(name, part, present) and not asked.again
        if asked.list:
            print(_line(store, name, part, done))
        elif done:
            print(f"{_title(name, part)}: measured at {present} already", flush=True)
        elif asked.minutes is not None and time.monotonic() - began > 60.0 * asked.minutes:
            print(f"{_title(name, part)}: no time left", flush=True)
        else:
            print(f"\n{_title(name, part)}", flush=True)
            store.figures["machine"] = machine
            measured = store.measure(name, part, run, present)
            print(json.dumps(measured, indent=1, ensure_ascii=False), flush=True)
    if not asked.list:
        print(f"\nKept in {store.path}; `python -m benchmarks.page` writes the page.")


def chosen(names: Sequence[str], words: str) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Name, part and what measures it, of all parts with these words in their name."""
    for name in names:
        for part, run in BENCHMARKS[name].items():
            if words in part:
                yield name, part, run


def _title(name: str, part: str) -> str:
    return f"{name}: {part}" if part else name


def _line(store: Store, name: str, part: str, done: bool) -> str:
    record = store.record(name, part)
    if not record:
        return f"{_title(name, part)}: not measured"
    seconds = f", {record['seconds']} s" if "seconds" in record else ""
    when = f"measured {record['date']} at {record['version']}{seconds}"
    return f"{_title(name, part)}: {when}{'' if done else ', before the present version'}"


if __name__ == "__main__":
    main()
