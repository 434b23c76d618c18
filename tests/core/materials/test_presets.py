# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets are valid, ordered as everybody knows, and what the published numbers lead to."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from supple.core import SoftBody
from supple.core.materials import MODELS, StableNeoHookean
from supple.core.materials.bounce import (
    LANDING_SPEED,
    bounciness,
    frequency_ratio,
    loss_factor,
    undamped_rebound,
)
from supple.core.materials.presets import (
    PRESETS,
    REFERENCES,
    Preset,
    render,
    stiffness,
)

DOCS = Path(__file__).resolve().parents[3] / "docs" / "materials.md"
# At which tan δ was measured or taken from a law, in rad/s.
OMEGA = 2.0 * math.pi * 5.0
CELLULAR = [name for name, preset in PRESETS.items() if preset.model == "corotated_linear"]


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_a_preset_makes_a_body(make_block, preset: Preset) -> None:
    body = SoftBody(
        make_block(),
        preset.material(),
        preset.density,
        damping=preset.damping,
        loss_factor=preset.loss_factor,
    )
    assert type(body.material) is MODELS[preset.model]
    assert (body.material.young, body.material.poisson) == (preset.young, preset.poisson)
    assert 10.0 < preset.density < 2000.0
    assert 0.0 < preset.tan_delta < 1.0 or preset.use_plasticity


def test_some_things_are_softer_than_others() -> None:
    order = ["gelatine_dessert", "fat", "muscle_relaxed", "muscle_tensed"]
    order += ["silicone", "rubber", "cork"]
    for softer, stiffer in pairwise(order):
        assert PRESETS[softer].young < PRESETS[stiffer].young
    assert PRESETS["gelatine_dessert"].young < PRESETS["gelatine_ballistic"].young


def test_the_menu_goes_from_soft_to_stiff() -> None:
    moduli = [preset.young for preset in PRESETS.values()]
    assert moduli == sorted(moduli)


def test_some_things_are_lighter_than_others() -> None:
    order = ("foam", "cork", "sponge", "fat", "rubber", "gelatine_dessert", "muscle_relaxed")
    for lighter, heavier in pairwise(order):
        assert PRESETS[lighter].density < PRESETS[heavier].density


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_number_has_a_source_that_is_a_known_work(preset: Preset) -> None:
    symbol = "(?:E|ν|ρ|tan δ|Y|τ|H)"
    parts = re.split(rf"(?:^|\. |; 0\. )({symbol}(?:, {symbol})*): ", preset.source)[1:]
    sourced = [symbol for symbols in parts[::2] for symbol in symbols.split(", ")]
    flow = ["Y", "τ", "H"] if preset.use_plasticity else []
    assert sorted(sourced) == sorted(["E", "ν", "ρ", "tan δ", *flow])
    for text in parts[1::2]:
        assert any(work in text for work in (*REFERENCES, "natural rubber")), text


def test_no_work_is_listed_for_nothing() -> None:
    sources = " ".join(preset.source for preset in PRESETS.values())
    assert [work for work in REFERENCES if work not in sources] == []


def test_what_is_free_bounces_back_by_what_is_published() -> None:
    """exp(−π tan δ), Gent 2012, of what comes back without damping; of foam the rebound itself is
    published."""
    for preset in PRESETS.values():
        if not preset.is_held:
            undamped = undamped_rebound(preset.young, preset.poisson, preset.density)
            expected = undamped * math.exp(-math.pi * preset.tan_delta)
            assert preset.bounciness == pytest.approx(expected)
            assert preset.scaled(3.0).loss_factor == pytest.approx(preset.loss_factor)
            assert preset.scaled(3.0).bounciness == pytest.approx(preset.bounciness)
    assert PRESETS["foam"].bounciness == pytest.approx(0.55, abs=0.02)


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("cork", 0.69),
        ("foam", 0.54),
        ("rubber", 0.76),
        ("sponge", 0.68),
        ("marshmallow", 0.59),
        ("silicone", 0.43),
    ],
)
def test_a_preset_says_how_high_dropped_balls_come_back(name: str, measured: float) -> None:
    """The heights below the table of loss factors in docs/physics.md."""
    assert PRESETS[name].bounciness == pytest.approx(measured, abs=0.1)


@pytest.mark.parametrize(
    ("poisson", "measured"),
    [
        (0.3, [0.98, 0.94, 0.88, 0.76, 0.67, 0.56]),
        (0.49, [0.97, 0.90, 0.82, 0.73, 0.66, 0.56]),
    ],
)
def test_a_ball_without_damping_keeps_the_share_that_dropped_balls_keep(poisson, measured) -> None:
    """Balls that land at 0.2 to 1 times the speed of their shear waves (docs/physics.md)."""
    for ratio, share in zip([0.2, 0.3, 0.42, 0.6, 0.75, 1.0], measured, strict=True):
        young = 2.0 * (1.0 + poisson) * 1000.0 * (LANDING_SPEED / ratio) ** 2
        assert undamped_rebound(young, poisson, 1000.0) == pytest.approx(share, abs=0.055)


def test_what_is_held_wobbles_with_what_is_published() -> None:
    held = [name for name, preset in PRESETS.items() if preset.is_held]
    assert held == ["liver", "fat", "muscle_relaxed", "muscle_tensed"]
    assert all(PRESETS[name].loss_factor == PRESETS[name].tan_delta for name in held)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.79])
def test_a_bounciness_has_one_loss_factor(share) -> None:
    rubber = (1e6, 0.49, 1000.0)
    assert bounciness(loss_factor(share, *rubber), *rubber) == pytest.approx(share)


def test_no_loss_factor_makes_a_jelly_bounce_high() -> None:
    jelly = (4e3, 0.49, 1000.0)
    assert loss_factor(0.9, *jelly) == 0.0
    assert bounciness(0.0, *jelly) == undamped_rebound(*jelly) < 0.5


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("cork", 0.14),
        ("foam", 0.27),
        ("rubber", 0.38),
        ("sponge", 0.41),
        ("marshmallow", 0.36),
        ("silicone", 0.51),
    ],
)
def test_a_bounce_is_as_slow_beside_the_slowest_vibration_as_dropped_balls_show(
    name: str, measured: float
) -> None:
    """The table of loss factors in docs/physics.md, of balls in symplectic Euler's own steps."""
    assert PRESETS[name].bounce_frequency_ratio == pytest.approx(measured, rel=0.25)


def test_the_ratio_of_a_bounce_has_the_powers_of_hertz() -> None:
    ratio = frequency_ratio(1e6, 0.3, 1000.0)
    assert frequency_ratio(2e6, 0.3, 2000.0) == pytest.approx(ratio)
    assert frequency_ratio(32e6, 0.3, 1000.0) == pytest.approx(ratio / 2.0**0.5)
    # 2.87, 2.50, and E* = E and μ = E/2 without lateral contraction; ρ = E = 1.
    mass, speed = 4.0 / 3.0 * math.pi, math.sqrt(2.0 * 9.81)
    seconds = 2.87 * (mass**2 / speed) ** 0.2
    expected = math.pi / seconds / (2.50 * math.sqrt(0.5))
    assert frequency_ratio(1.0, 0.0, 1.0) == pytest.approx(expected)


def _three_parameters(elastic: float, spring: float, viscosity: float) -> complex:
    """Complex shear modulus of a spring beside a spring and a dashpot in a row."""
    dashpot = 1j * OMEGA * viscosity
    return elastic + spring * dashpot / (spring + dashpot)


def _power_law(ratio: float) -> float:
    """Between 277 kPa at 2 parts of water to 1 of gelatine and 4.34 kPa at 20."""
    exponent = math.log(277.0 / 4.34) / math.log(20.0 / 2.0)
    return 4340.0 * (20.0 / ratio) ** exponent


def _mixture(parts_of_water: float) -> float:
    return (parts_of_water + 1.0) / (parts_of_water / 998.0 + 1.0 / 1340.0)


_LIVER = _three_parameters(1160.0, 1970.0, 7.3)
_SILICONE = 1.0 + (1j * OMEGA * 260e-6) ** 0.33


@pytest.mark.parametrize(
    ("name", "number", "published"),
    [
        ("liver", "young", 3.0 * _LIVER.real),
        ("liver", "tan_delta", _LIVER.imag / _LIVER.real),
        ("gelatine_dessert", "young", _power_law(20.0)),
        ("gelatine_dessert", "density", _mixture(20.0)),
        ("gelatine_dessert", "tan_delta", math.pi / 2.0 * 0.02),
        ("gelatine_ballistic", "young", _power_law(9.0)),
        ("gelatine_ballistic", "density", _mixture(9.0)),
        ("gelatine_ballistic", "tan_delta", math.pi / 2.0 * 0.02),
        ("fat", "young", 3.0 * 1610.0),
        ("fat", "tan_delta", math.tan(math.acos(0.93))),
        ("muscle_relaxed", "young", 3.0 * 3670.0),
        ("muscle_relaxed", "tan_delta", math.tan(0.253 * math.pi / 2.0)),
        ("muscle_tensed", "young", 3.0 * 11290.0),
        ("muscle_tensed", "tan_delta", math.tan(0.270 * math.pi / 2.0)),
        ("foam", "tan_delta", -math.log(0.55) / math.pi),
        ("sponge", "young", 0.5 * (13.7e3 + 34.4e3) / 0.25),
        ("sponge", "density", 0.5 * (259.0 + 397.0)),
        # A Neo-Hookean solid drawn to twice its length: E/3 (2 − 1/4).
        ("silicone", "young", 69e3 / ((2.0 - 0.25) / 3.0)),
        ("silicone", "tan_delta", _SILICONE.imag / _SILICONE.real),
        ("rubber", "tan_delta", 2.0 * 0.025),
        ("wet_clay", "young", math.sqrt(5.0 * 50.0) * 95.76e3),
        ("wet_clay", "yield_stress", 2.0 * 2.3e3 * (180.0 / 2.3) ** 0.2),
        ("clay", "young", math.sqrt(50.0 * 200.0) * 95.76e3),
        ("clay", "yield_stress", 2.0 * math.sqrt(2.3e3 * 180e3)),
        ("clay", "density", 1.36 / (0.36 / 998.0 + 1.0 / 2630.0)),
    ],
)
def test_a_derived_number_is_what_the_published_ones_lead_to(
    name: str, number: str, published: float
) -> None:
    assert getattr(PRESETS[name], number) == pytest.approx(published, rel=0.015)


def _pressed(preset: Preset, model: type, length: float) -> tuple[float, float]:
    """Width and nominal stress of a block pressed to a share of its length, its sides free."""
    material = model(preset.young, preset.poisson)

    def stress(width: float) -> torch.Tensor:
        f = torch.diag(torch.tensor([length, width, width], dtype=torch.float64))
        return material.first_piola(f[None])[0]

    low, high = 0.2, 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if stress(middle)[1, 1] > 0.0 else (middle, high)
    return low, -float(stress(low)[0, 0])


@pytest.mark.parametrize("name", CELLULAR)
def test_pressed_hard_foam_and_cork_bulge_a_little_and_do_not_draw_their_sides_in(name) -> None:
    preset = PRESETS[name]
    width, stress = _pressed(preset, MODELS[preset.model], 0.3)
    assert width == pytest.approx(1.0 + 0.7 * preset.poisson)
    assert stress == pytest.approx(0.7 * preset.young)
    # Which is why they are not of the default model.
    assert _pressed(preset, StableNeoHookean, 0.3)[0] < 1.0


def test_the_sponge_is_as_soft_at_a_quarter_as_its_data_sheet_says() -> None:
    preset = PRESETS["sponge"]
    assert 13.7e3 < _pressed(preset, MODELS[preset.model], 0.75)[1] < 34.4e3


def test_the_table_in_the_docs_is_that_of_the_code() -> None:
    assert render() in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(("young", "text"), [(4340.0, "4.34 kPa"), (1.5e6, "1.5 MPa")])
def test_stiffness_is_written_as_people_read_it(young: float, text: str) -> None:
    assert stiffness(young) == text


def test_a_column_of_clay_is_meant_to_be_no_higher_than_its_foot_bears() -> None:
    clay = PRESETS["clay"]
    assert clay.density * 9.81 * clay.size == pytest.approx(clay.yield_stress)
    assert clay.size < clay.tenth_sag_height
    rubber = PRESETS["rubber"]
    assert not rubber.use_plasticity and rubber.size == rubber.tenth_sag_height


@pytest.mark.parametrize("scale", [0.25, 16.0])
def test_a_scaled_material_sags_wobbles_and_yields_as_much_at_its_size(scale) -> None:
    clay = replace(PRESETS["clay"], creep_time=0.2, hardening=500.0)
    scaled = clay.scaled(scale)
    assert scaled.tenth_sag_height == pytest.approx(scale * clay.tenth_sag_height)
    assert scaled.standing_height == pytest.approx(scale * clay.standing_height)
    assert scaled.hardening / scaled.young == pytest.approx(clay.hardening / clay.young)

    def rate(preset: Preset, size: float) -> float:
        """The rate of a wobble, in 1/s."""
        return math.sqrt(preset.young / preset.density) / size

    slow, fast = rate(scaled, scale), rate(clay, 1.0)
    assert slow * scaled.creep_time == pytest.approx(fast * clay.creep_time)
