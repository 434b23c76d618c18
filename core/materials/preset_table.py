# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets as Markdown, for docs/materials.md.

``python -m supple.core.materials.preset_table`` prints it.
"""

from __future__ import annotations

from .presets import PRESETS, REFERENCES, Preset

_HEAD = (
    "| material | model | E | ν | ρ in kg/m³ | tan δ | Y | height | source |",
    "|---|---|---|---|---|---|---|---|---|",
)


def render() -> str:
    """A table of all presets, and the works its sources name."""
    rows = [_row(preset) for preset in PRESETS.values()]
    works = [f"- **{name}**: {work}" for name, work in REFERENCES.items()]
    return "\n".join([*_HEAD, *rows, "", *works])


def stiffness(young: float) -> str:
    """Pascal as people read them: 4340 is ``4.34 kPa``."""
    return f"{young / 1e6:g} MPa" if young >= 1e6 else f"{young / 1e3:g} kPa"


def length(metres: float) -> str:
    """As people read them, in two digits: 0.0876 m is ``8.8 cm``."""
    for unit, name in ((1000.0, "km"), (1.0, "m"), (0.01, "cm")):
        if metres >= unit:
            return f"{float(f'{metres / unit:.2g}'):g} {name}"
    return f"{1000.0 * metres:.2g} mm"


def _row(preset: Preset) -> str:
    cells = (
        preset.label,
        f"`{preset.model}`",
        stiffness(preset.young),
        f"{preset.poisson:g}",
        f"{preset.density:g}",
        f"{preset.loss_factor:g}",
        stiffness(preset.yield_stress) if preset.use_plasticity else "",
        length(preset.size),
        preset.source,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(render())
