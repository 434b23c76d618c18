# SPDX-License-Identifier: GPL-3.0-or-later
"""The doctor's report in an artist's words."""

from __future__ import annotations

from .doctor import Finding

#: An icon, and a text to wrap.
Line = tuple[str, str]

# Findings without which nothing is simulated, where they are problems.
_ESSENTIAL = {"Solver Python", "Solver"}


def lines(findings: list[Finding]) -> list[Line]:
    """The summary, most important first."""
    return [_headline(findings), *_problems(findings), *_missing(findings), *_facts(findings)]


def _headline(findings: list[Finding]) -> Line:
    problems = [finding for finding in findings if finding.cure]
    if not problems:
        return "CHECKMARK", "Supple is ready to simulate."
    if any(finding.what in _ESSENTIAL or finding.is_lacking for finding in problems):
        return "CANCEL", "Supple cannot simulate yet."
    what = (
        "one thing is not as it"
        if len(problems) == 1
        else f"{len(problems)} things are not as they"
    )
    return "ERROR", f"Supple may work, but {what} should be."


def _problems(findings: list[Finding]) -> list[Line]:
    found = [finding for finding in findings if finding.cure]
    return [
        line
        for finding in found
        for line in (
            ("ERROR", f"{finding.what}: {finding.value}."),
            ("BLANK1", finding.cure),
        )
    ]


def _missing(findings: list[Finding]) -> list[Line]:
    optional = [finding for finding in findings if finding.is_lacking and not finding.cure]
    return [
        ("INFO", f"Optional, not installed: {finding.what}. Without it: {_loss(finding)}.")
        for finding in optional
    ]


def _loss(finding: Finding) -> str:
    return finding.value.rpartition(": ")[2]


def _facts(findings: list[Finding]) -> list[Line]:
    values = {finding.what: finding.value for finding in findings if not finding.cure}
    found: list[Line] = []
    if card := values.get("Graphics card"):
        threads = values.get("Threads", "")
        on_card = "" if card.startswith("none") else f"{card}, where it is quicker, and "
        found.append(("DOT", f"Computes on {on_card}the processor, {threads} threads at a time."))
    if folder := values.get("Cache folder"):
        found.append(("DOT", f"Simulated frames are kept in {folder.partition(', ')[0]}."))
    if (unused := values.get("Unused caches", "none")) != "none":
        count = unused.partition(";")[0]
        found.append(("DOT", f"Folders of frames that this file does not play: {count}."))
    return found
