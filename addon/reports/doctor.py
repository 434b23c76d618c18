# SPDX-License-Identifier: GPL-3.0-or-later
"""The doctor: a readable report on the solver on this machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy

from ...core.errors import SuppleError, legible
from ..cache import scene_cache, unused_caches
from ..cache_folder import check_reachable
from ..worker import solver_environment, solver_packages
from ..worker.solver_environment import Environment
from ..worker.solver_packages import Package

_PROBE = """
import importlib, importlib.metadata, json, platform, sys
found = {"python": platform.python_version(), "machine": platform.machine()}
found["packages"], found["errors"] = packages, errors = {}, {}
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
        packages[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        packages[name] = "of an unknown version"
    except (ImportError, OSError) as error:
        packages[name], errors[name] = None, str(error)
found["threads"], found["cuda"] = None, ""
if packages.get("torch"):
    import torch
    found["threads"] = torch.get_num_threads()
    found["cuda"] = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
print(json.dumps(found))
"""
_PROBE_SECONDS = 120.0
_LISTED_CACHES = 10


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``cure`` is the remedy of a problem."""

    what: str
    value: str
    cure: str = ""
    is_lacking: bool = False

    def __str__(self) -> str:
        line = f"{self.what + ':':<16} {self.value}"
        return legible(f"{line}\n{'':>4}PROBLEM  {self.cure}" if self.cure else line)


class Examination:
    """An examination of this machine. The solver's Python is examined in the background, which
    takes some seconds. Everything else is checked at once."""

    def __init__(self) -> None:
        machine = f"{platform.system()} {platform.release()}, {platform.machine()}"
        self._before = [
            Finding("Blender", f"{bpy.app.version_string}, Python {platform.python_version()}"),
            Finding("System", f"{machine}, {os.cpu_count()} logical processors"),
            Finding("Supple", str(solver_environment.ROOT)),
            *_solver(),
        ]
        self._after = [
            Finding("Online access", "allowed" if bpy.app.online_access else "not allowed"),
            _cache(),
            *_unused_caches(),
        ]
        self._probed: list[Finding] = []
        environment = solver_environment.find()
        # Blender's own data are not touched there.
        arguments = (
            () if environment is None else (environment, solver_environment.variables(environment))
        )
        self._thread = threading.Thread(target=self._ask, args=arguments, daemon=True)
        self._thread.start()

    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def findings(self) -> list[Finding]:
        """All findings, waiting for them where it must."""
        self._thread.join()
        return [*self._before, *self._probed, *self._after]

    def _ask(self, *arguments: Any) -> None:
        if arguments:
            self._probed = _probe(*arguments)


def report() -> str:
    """The findings as text. Takes some seconds."""
    return formatted(examine())


def formatted(findings: list[Finding]) -> str:
    """Format the findings, one line each, with the cure below every problem."""
    problems = sum(bool(finding.cure) for finding in findings)
    lacking = sum(finding.is_lacking for finding in findings)
    end = "All is well."
    if problems:
        end = f"{problems} problem(s) found."
    elif lacking:
        end = f"Everything needed is installed. {lacking} optional package(s) are missing."
    return "\n".join([*map(str, findings), end])


def examine() -> list[Finding]:
    """All findings. Starts the solver's Python and lets it import torch."""
    return Examination().findings()


def _solver() -> list[Finding]:
    folder = solver_environment.solver_folder()
    installed = Finding("Solver folder", _folder_state(folder))
    environment = solver_environment.find()
    if environment is None:
        cure = solver_environment.why_not_found()
        return [installed, Finding("Solver Python", "none", cure)]
    python = Finding("Solver Python", f"{environment.python} ({environment.description})")
    return [installed, python]


def _folder_state(folder: Path | None) -> str:
    if folder is None:
        return "none, since Supple runs outside Blender's extensions"
    if not folder.exists():
        return f"{folder}, not installed"
    return f"{folder}" if solver_environment.holds_torch(folder) else f"{folder}, without PyTorch"


def _probe(environment: Environment, variables: dict[str, str]) -> list[Finding]:
    names = [package.name for package in solver_packages.packages()]
    command = [str(environment.python), "-s", "-P", "-c", _PROBE, *names]
    try:
        done = subprocess.run(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            creationflags=solver_environment.NO_CONSOLE,
        )
    except subprocess.TimeoutExpired:
        cure = "Look for a virus scanner or a slow network drive, then try again."
        return [Finding("Solver", f"no answer within {_PROBE_SECONDS:.0f} s", cure)]
    except OSError as error:
        cure = "Name another Python in Supple's preferences, or empty that field."
        return [Finding("Solver", f"this Python does not start: {error.strerror}", cure)]
    if done.returncode != 0:
        return [_failure(done, environment)]
    return _facts(json.loads(done.stdout.splitlines()[-1]), environment)


def _failure(done: subprocess.CompletedProcess[str], environment: Environment) -> Finding:
    lines = done.stderr.strip().splitlines()
    why = lines[-1] if lines else f"exit status {done.returncode}"
    return Finding("Solver", f"its packages cannot be imported: {why}", _cure(environment))


def _cure(environment: Environment) -> str:
    if environment.site is not None:
        return "Choose Install Solver in Supple's preferences to install it afresh."
    return (
        "Install the packages of requirements/solver.txt in that Python, or name another one in "
        "Supple's preferences."
    )


def _facts(answer: dict[str, Any], environment: Environment) -> list[Finding]:
    python = Finding("Solver runs on", f"Python {answer['python']}, {answer['machine']}")
    packages = [_package(package, answer, environment) for package in solver_packages.packages()]
    return [
        python,
        *packages,
        Finding("Threads", str(answer["threads"])),
        Finding("Graphics card", answer["cuda"] or "none that PyTorch can use; the CPU computes"),
    ]


def _unused_caches() -> list[Finding]:
    caches = unused_caches.find()
    if not caches:
        return [Finding("Unused caches", "none")]
    size = unused_caches.formatted_size(sum(each.size for each in caches))
    summary = f"{len(caches)}, {size}; Remove Unused Caches in Supple's preferences deletes them"
    largest = [Finding("Unused cache", str(each)) for each in caches[:_LISTED_CACHES]]
    return [Finding("Unused caches", summary), *largest]


def _package(package: Package, answer: dict[str, Any], environment: Environment) -> Finding:
    version: str | None = answer["packages"][package.name]
    description = package.description
    if version is None:
        return _lack(package, answer["errors"][package.name], environment)
    # One without metadata has no version, but can be imported.
    if version[0].isdigit() and not package.fits(version):
        other = f"{version}, but Supple is made for {package.versions.removeprefix('==')}"
        return Finding(description.label, other, _cure(environment))
    return Finding(description.label, version)


def _lack(package: Package, error: str, environment: Environment) -> Finding:
    description = package.description
    if not package.is_made:
        return Finding(description.label, f"not made for this machine: {description.loss}")
    why = f"{error}: {description.loss}"
    if description.is_optional:
        return Finding(description.label, f"optional, {why}", is_lacking=True)
    return Finding(description.label, why, _cure(environment), is_lacking=True)


def _cache() -> Finding:
    try:
        folder = scene_cache.root(bpy.context.scene)
        check_reachable(folder)
    except SuppleError as error:
        return Finding("Cache folder", "none", str(error))
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return Finding("Cache folder", f"{folder}, writable")
    except OSError as error:
        cure = "Choose another cache folder in the scene's or in Supple's preferences."
        return Finding("Cache folder", f"{folder}, not writable ({error.strerror})", cure)


#: An icon, and a text to wrap.
Line = tuple[str, str]

# Findings without which nothing is simulated, where they are problems.
_ESSENTIAL = {"Solver Python", "Solver"}


def lines(findings: list[Finding]) -> list[Line]:
    """The summary, most important first."""
    return [
        _headline(findings),
        *_problems(findings),
        *_missing(findings),
        *_summary_facts(findings),
    ]


def _headline(findings: list[Finding]) -> Line:
    problems = [finding for finding in findings if finding.cure]
    if not problems:
        return "CHECKMARK", "Supple is ready to simulate."
    if any(finding.what in _ESSENTIAL or finding.is_lacking for finding in problems):
        return "CANCEL", "Supple cannot simulate yet."
    what = "one check" if len(problems) == 1 else f"{len(problems)} checks"
    return "ERROR", f"Supple may work, but {what} failed."


def _problems(findings: list[Finding]) -> list[Line]:
    problems = [finding for finding in findings if finding.cure]
    return [
        line
        for finding in problems
        for line in (("ERROR", f"{finding.what}: {finding.value}."), ("BLANK1", finding.cure))
    ]


def _missing(findings: list[Finding]) -> list[Line]:
    optional = [finding for finding in findings if finding.is_lacking and not finding.cure]
    return [
        ("INFO", f"Optional, not installed: {finding.what}. Without it: {_loss(finding)}.")
        for finding in optional
    ]


def _loss(finding: Finding) -> str:
    return finding.value.rpartition(": ")[2]


def _summary_facts(findings: list[Finding]) -> list[Line]:
    values = {finding.what: finding.value for finding in findings if not finding.cure}
    summary: list[Line] = []
    if card := values.get("Graphics card"):
        threads = values.get("Threads", "")
        on_card = "" if card.startswith("none") else f"{card}, where it is quicker, and "
        summary.append(("DOT", f"Computes on {on_card}the processor, {threads} threads at a time."))
    if folder := values.get("Cache folder"):
        summary.append(("DOT", f"Simulated frames are kept in {folder.partition(', ')[0]}."))
    if (unused := values.get("Unused caches", "none")) != "none":
        count = unused.partition(";")[0]
        summary.append(("DOT", f"Folders of frames that this file does not play: {count}."))
    return summary
