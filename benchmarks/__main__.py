# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m benchmarks [NAME …]``: runs the benchmarks and keeps their figures as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import (
    contact,
    explicit_substep,
    first_frame,
    implicit_frame,
    integrators,
    shape_keys,
    time_against_tets,
    time_stepping,
)
from .machine import describe, file_name

BENCHMARKS: dict[str, Callable[[], Any]] = {
    "explicit_substep": explicit_substep.run,
    "implicit_frame": implicit_frame.run,
    "integrators": integrators.run,
    "contact": contact.run,
    "first_frame": first_frame.run,
    "shape_keys": shape_keys.run,
    "time_stepping": time_stepping.run,
    "time_against_tets": time_against_tets.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="default: all")
    names = parser.parse_args().names or list(BENCHMARKS)
    machine = describe()
    path = Path(__file__).parent / "results" / f"{file_name(machine)}.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["machine"] = machine
    for name in names:
        print(f"\n{name}", flush=True)
        results[name] = BENCHMARKS[name]()
        print(json.dumps(results[name], indent=1), flush=True)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nKept in {path}")


if __name__ == "__main__":
    main()
