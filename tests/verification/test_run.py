# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import pytest

from supple.verification import __main__ as command
from supple.verification import page
from supple.verification.check import Subject, near
from supple.verification.expected import INTEGRATORS
from supple.verification.run import outcome
from supple.verification.subjects import free_fall

GOOD = Subject("Good", "", "", [near("fall", 1.0, 1.0, 0.01)])
BAD = Subject("Bad", "", "", [near("fall", 2.0, 1.0, 0.01)])


def _carried_out(monkeypatch: pytest.MonkeyPatch, **subjects: Subject) -> None:
    """As if these had been the outcomes, the last done first."""
    monkeypatch.setattr(command, "SUBJECTS", subjects)
    backwards = [(name, subjects[name], 0.0) for name in reversed(subjects)]
    monkeypatch.setattr(command, "each", lambda names: [d for d in backwards if d[0] in names])


def test_it_ends_with_1_where_a_check_fails_and_writes_the_page_all_the_same(monkeypatch) -> None:
    _carried_out(monkeypatch, good=GOOD, bad=BAD)
    written: dict[str, Subject] = {}
    monkeypatch.setattr(command, "publish", written.update)
    assert command.main([]) == 1
    assert list(written) == ["good", "bad"]


def test_it_ends_with_0_where_everything_holds(monkeypatch) -> None:
    _carried_out(monkeypatch, good=GOOD)
    monkeypatch.setattr(command, "publish", lambda subjects: None)
    assert command.main([]) == 0


def test_chosen_subjects_are_printed_and_leave_the_page_alone(monkeypatch, capsys) -> None:
    _carried_out(monkeypatch, good=GOOD, bad=BAD)
    monkeypatch.setattr(command, "publish", lambda subjects: pytest.fail("the page was written"))
    assert command.main(["bad"]) == 1
    assert "## Bad" in capsys.readouterr().out


def test_a_check_of_all_leaves_the_page_alone_and_fails_all_the_same(monkeypatch) -> None:
    _carried_out(monkeypatch, good=GOOD, bad=BAD)
    monkeypatch.setattr(command, "publish", lambda subjects: pytest.fail("the page was written"))
    assert command.main(["--check"]) == 1


def test_an_unknown_subject_is_refused_with_the_known_ones(monkeypatch, capsys) -> None:
    _carried_out(monkeypatch, good=GOOD)
    with pytest.raises(SystemExit):
        command.main(["gould"])
    assert "there is no subject 'gould'; there are good" in capsys.readouterr().err


def test_a_subject_that_breaks_off_fails_and_says_why(capsys) -> None:
    def breaks() -> Subject:
        raise ValueError("no such body")

    subject = outcome("free_fall", breaks)
    assert not subject.holds
    assert "ValueError: no such body" in page.section("free_fall", subject)
    assert "**fails**" in page.section("free_fall", subject)


def test_a_wrong_reference_fails_a_subject_by_its_claim_alone(monkeypatch) -> None:
    wrong = replace(INTEGRATORS["implicit_euler"], fall=lambda h, n: 0.5 * h * h * (n - 1))
    monkeypatch.setitem(INTEGRATORS, "implicit_euler", wrong)
    found = free_fall.run()
    assert not found.holds
    assert [c.claim for c in found.checks if not c.holds] == ["Implicit Euler: fall in 1 s"]
