# SPDX-License-Identifier: GPL-3.0-or-later
"""The kept figures: one JSON file a kind of machine, written anew after every part of a benchmark.

Beside the figures it says when each part was measured, in how many seconds, and at which commit.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results"
#: The machines whose figures README and docs quote, the first one's where it has them.
QUOTED = (
    RESULTS / "amd-epyc-2-cores.json",
    RESULTS / "intel-r-xeon-r-processor-16-cores-nvidia-h100-80gb-hbm3.json",
)
#: Benchmarks whose parts are compared with nothing outside of them.
INDEPENDENT_PARTS = ("time_stepping",)
#: What the figures depend on.
SOURCES = ("core", "benchmarks", ":!benchmarks/results")
#: Of a benchmark that is measured as a whole.
WHOLE = ""
MEASURED = "measured"


@dataclass
class Store:
    """Kept figures in a file.

    Args:
        path: of the file, which need not exist yet.
        figures: all that is in it.
    """

    path: Path
    figures: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> Store:
        return cls(path, json.loads(path.read_text(encoding="utf-8")) if path.exists() else {})

    @property
    def machine(self) -> str:
        about = self.figures["machine"]
        card = f", {about['cuda']}" if about.get("cuda") else ""
        return f"{about['processor']}, {about['cores']} cores{card}"

    def records(self, name: str) -> dict[str, dict[str, Any]]:
        parts: dict[str, dict[str, Any]] = self.figures.get(MEASURED, {}).get(name, {})
        return parts

    def record(self, name: str, part: str = WHOLE) -> dict[str, Any]:
        """When, how long and at which version a part was measured; empty if it was not."""
        return self.records(name).get(part, {})

    def is_done(self, name: str, part: str, version: str) -> bool:
        """Whether it was measured at this very version; with changes not committed, never."""
        return not version.endswith("+") and self.record(name, part).get("version") == version

    def measure(self, name: str, part: str, run: Callable[[], Any], version: str) -> Any:
        """Measures a part and keeps its figures at once; returns them."""
        began = time.perf_counter()
        figures = run()
        if part == WHOLE:
            self.figures[name] = figures
        else:
            self.figures.setdefault(name, {})[part] = figures
        records = self.figures.setdefault(MEASURED, {}).setdefault(name, {})
        records[part] = {
            "date": time.strftime("%Y-%m-%d"),
            "version": version,
            "seconds": round(time.perf_counter() - began),
        }
        self.write()
        return figures

    def write(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        text = json.dumps(self.figures, indent=1, ensure_ascii=False) + "\n"
        unfinished = self.path.with_suffix(".json.unfinished")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.path)


def quoted(paths: Sequence[Path] = QUOTED) -> dict[str, Any]:
    """The figures of several machines as one, each record with the machine that it is from.

    A benchmark is taken from the first machine that has all of its parts, so that no table mixes
    two; only where parts are independent, each is taken from the first that has it.
    """
    stores = [Store.open(path) for path in paths]
    figures: dict[str, Any] = {MEASURED: {}}
    names = dict.fromkeys(name for store in stores for name in store.figures.get(MEASURED, {}))
    for name in names:
        holders = [store for store in stores if name in store.figures.get(MEASURED, {})]
        parts = list(dict.fromkeys(part for store in holders for part in store.records(name)))
        for part in parts:
            having = [store for store in holders if part in store.records(name)]
            whole = [store for store in holders if len(store.records(name)) == len(parts)]
            source = having[0] if name in INDEPENDENT_PARTS or not whole else whole[0]
            record = {**source.record(name, part), "machine": source.machine}
            figures[MEASURED].setdefault(name, {})[part] = record
            if part == WHOLE:
                figures[name] = source.figures[name]
            else:
                figures.setdefault(name, {})[part] = source.figures[name][part]
    return figures


def version(root: Path = ROOT, sources: Sequence[str] = SOURCES) -> str:
    """The last commit that changed what figures depend on; with a + where more is changed."""
    commit = _git(root, "log", "-1", "--format=%h", "--", *sources)
    if not commit:
        return "unknown+"
    return commit + ("+" if _git(root, "status", "--porcelain", "--", *sources) else "")


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
