# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny scenes go the ways that ordinary ones go, so that these find everything compiled."""

from __future__ import annotations

from typing import Any

import pytest

from supple.core.integrators import mesh_contact_step
from supple.core.job import tiny_scenes
from supple.core.kernels import contact_relaxation, elasticity
from supple.core.potentials.contact import approach_limit, truncated_motion
from supple.core.potentials.contact.clearance import Clearance
from supple.core.potentials.contact.persistent_candidates import PersistentCandidates
from supple.core.preparation import initial_intersections
from supple.core.preparation.initial_intersections import minimum_translations
from supple.core.preparation.overlap_contraction import contract_overlap


def test_explicit_contact_searches_around_the_few_vertices_that_are_deflected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a mesh that lands does in its first frame of contact."""
    shares: list[float] = []
    find = PersistentCandidates._find_around

    def find_around(self: Any, leaving: Any, *rest: Any) -> int:
        shares.append(float(leaving.mean()))
        return find(self, leaving, *rest)

    monkeypatch.setattr(PersistentCandidates, "_find_around", find_around)
    tiny_scenes.explicit_contact()
    assert shares and 0.0 < max(shares) <= 0.1


def test_explicit_contact_measures_the_work_of_a_collider_that_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    works: list[float] = []
    measure = contact_relaxation.prescribed_work

    def prescribed_work(*arguments: Any) -> float:
        works.append(float(measure(*arguments)))
        return works[-1]

    monkeypatch.setattr(mesh_contact_step, "prescribed_work", prescribed_work)
    tiny_scenes.explicit_contact()
    assert any(works)


def called(
    monkeypatch: pytest.MonkeyPatch, module: Any, names: tuple[str, ...], piece: tiny_scenes.Piece
) -> set[str]:
    """Return which functions of a module a piece calls."""
    found: set[str] = set()
    for name in names:
        original = getattr(module, name)

        def spy(*arguments: Any, _name: str = name, _original: Any = original) -> Any:
            found.add(_name)
            return _original(*arguments)

        monkeypatch.setattr(module, name, spy)
    piece()
    return found


def test_explicit_contact_stops_what_cannot_make_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """As bodies do that are squeezed between two others."""
    names = "reaches", "find_near", "divide", "stop_inverted"
    found = called(monkeypatch, truncated_motion, names, tiny_scenes.explicit_contact)
    assert found == set(names)


def test_implicit_contact_looks_for_collisions(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "write_extremes", "find_collisions", "write_step_sizes"
    found = called(monkeypatch, approach_limit, names, tiny_scenes.implicit_contact)
    assert found == set(names)


def test_an_overlap_is_contracted_and_another_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contracted: list[bool] = []
    parted: list[bool] = []
    contract, part = contract_overlap, minimum_translations

    def contracting(*arguments: Any) -> Any:
        result = contract(*arguments)
        contracted.append(result is not None)
        return result

    def parting(*arguments: Any) -> Any:
        result = part(*arguments)
        parted.append(result is not None)
        return result

    monkeypatch.setattr(initial_intersections, "contract_overlap", contracting)
    monkeypatch.setattr(initial_intersections, "minimum_translations", parting)
    tiny_scenes.overlap()
    assert contracted[0] and not contracted[-1] and parted == [True]


def test_clearance_is_checked_along_curves_and_what_tets_hold_apart_on_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a first frame of more steps than positions are sampled."""
    checked: list[tuple[bool, bool]] = []
    check, hold_in = Clearance.clearance_after, Clearance._hold_in

    def clearance_after(self: Any, trajectory: Any, *rest: Any) -> Any:
        checked.append((trajectory.is_linear, False))
        return check(self, trajectory, *rest)

    def hold(self: Any, trajectory: Any) -> Any:
        checked[-1] = checked[-1][0], True
        return hold_in(self, trajectory)

    monkeypatch.setattr(Clearance, "clearance_after", clearance_after)
    monkeypatch.setattr(Clearance, "_hold_in", hold)
    tiny_scenes.clearance()
    assert (False, True) in checked


def test_laws_in_the_stretches_go_by_invariants_and_by_singular_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = "_green_edge_forces", "_corotated_edge_forces", "_write_separated"
    assert called(monkeypatch, elasticity, names, tiny_scenes.stretches) == set(names)
