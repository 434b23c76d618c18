# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m verification [SUBJECT …]``: checks the solver and writes docs/verification.md.

With names of subjects it checks those and prints them, and leaves the page as it is; so it does
with --check. The exit status is 0 where everything holds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from . import page, plots
from .check import Subject
from .run import each
from .subjects import SUBJECTS


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--check", action="store_true", help="leave the page as it is")
    parsed = parser.parse_args(arguments)
    names = parsed.names
    unknown = [name for name in names if name not in SUBJECTS]
    if unknown:
        parser.error(f"there is no subject {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    subjects = _checked(names or list(SUBJECTS))
    if names:
        for name, subject in subjects.items():
            print(f"\n{page.section(name, subject)}")
    elif not parsed.check:
        publish(subjects)
    return status(subjects)


def publish(subjects: Mapping[str, Subject]) -> None:
    plots.draw(subjects, page.PICTURES)
    page.write(subjects)
    print(f"\nWritten to {page.PAGE}")


def status(subjects: Mapping[str, Subject]) -> int:
    """Return the exit status: 0 only where every check holds."""
    return 0 if all(subject.holds for subject in subjects.values()) else 1


def _checked(names: Sequence[str]) -> Mapping[str, Subject]:
    """In the order of the page."""
    subjects = {}
    for name, subject, seconds in each(names):
        subjects[name] = subject
        verdict = "holds" if subject.holds else "FAILS"
        print(f"{verdict}  {name}, {len(subject.checks)} checks, {seconds:.0f} s", flush=True)
    return {name: subjects[name] for name in names}


if __name__ == "__main__":
    sys.exit(main())
