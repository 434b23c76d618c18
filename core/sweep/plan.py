# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of each run of a sweep, by its number. No run is kept in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..errors import SceneError

#: The values of settings; of some, such as gravity, three numbers.
Value = float | int | str | bool | list[float]
Values = dict[str, Value]


@dataclass(frozen=True)
class Span:
    """Numbers between two limits.

    Args:
        start, end: the limits, both included.
        count: of evenly spaced numbers, for grids and lists; random samples need none.
        is_log: whether their logarithms are evenly spaced.
    """

    start: float
    end: float
    count: int | None = None
    is_log: bool = False

    def __post_init__(self) -> None:
        for limit in (self.start, self.end):
            if isinstance(limit, bool) or not isinstance(limit, int | float):
                raise SceneError(f"A limit must be a number, not {limit!r}.")
        if not (math.isfinite(self.start) and math.isfinite(self.end)):
            raise SceneError("The limits must be finite.")
        if self.is_log and min(self.start, self.end) <= 0.0:
            raise SceneError("The limits must be above 0 for logarithms.")
        is_whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        if self.count is not None and (not is_whole or self.count < 2):
            raise SceneError(f"The count must be a whole number from 2, not {self.count!r}.")

    def at(self, share: float) -> float:
        """The number at a share of the way, 0 … 1; the limits are exact."""
        if share in (0.0, 1.0):
            return float(self.end if share else self.start)
        if self.is_log:
            return float(self.start * (self.end / self.start) ** share)
        return float(self.start + (self.end - self.start) * share)


Axis = Span | Sequence[Value]


@dataclass(frozen=True)
class Sweep:
    """The settings to vary. The runs are all combinations of a point of the grid, a row of the
    lists and a random sample.

    Args:
        grid: the values of settings, by their names; all combinations are run.
        lists: equally many values of each setting, by their names; the first of all are run
            together, then the second.
        random: the limits or the choices of settings, by their names.
        samples: number of random samples.
        seed: of the random numbers.
        frames: of each run after the start; None is those of the settings.
        threads: of the solver in each run; results depend on it.

    Raises:
        SceneError: the values of a setting are not right.
    """

    grid: Mapping[str, Axis] = field(default_factory=dict)
    lists: Mapping[str, Axis] = field(default_factory=dict)
    random: Mapping[str, Axis] = field(default_factory=dict)
    samples: int = 1
    seed: int = 0
    frames: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        names = [*self.grid, *self.lists, *self.random]
        for name in names:
            if names.count(name) > 1:
                raise SceneError(f"{name} is varied twice.")
        for axes in (self.grid, self.lists, self.random):
            for name, axis in axes.items():
                if isinstance(axis, Span):
                    if axis.count is None and axes is not self.random:
                        raise SceneError(f"{name} needs a count of values between its limits.")
                elif isinstance(axis, str) or not isinstance(axis, Sequence) or not len(axis):
                    raise SceneError(f"{name} needs a list of values, or limits.")
        lengths = {name: _length(axis) for name, axis in self.lists.items()}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise SceneError(f"The lists must have as many values as each other: {counts}.")
        for name in ("samples", "threads", *(["frames"] if self.frames is not None else [])):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise SceneError(f"{name} must be a whole number from 1, not {count!r}.")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise SceneError(f"seed must be a whole number from 0, not {self.seed!r}.")

    @property
    def names(self) -> list[str]:
        """The settings that are varied."""
        return [*self.grid, *self.lists, *self.random]

    def __len__(self) -> int:
        rows = next((_length(axis) for axis in self.lists.values()), 1)
        samples = self.samples if self.random else 1
        return math.prod(map(_length, self.grid.values())) * rows * samples

    def values(self, index: int) -> Values:
        """The settings of a run, by its number from 0. The last setting of the grid changes most
        slowly, random samples change first."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        rest, sample = divmod(index, self.samples if self.random else 1)
        rest, row = divmod(rest, next((_length(axis) for axis in self.lists.values()), 1))
        values: Values = {}
        for name, axis in self.grid.items():
            rest, place = divmod(rest, _length(axis))
            values[name] = _value(axis, place)
        values |= {name: _value(axis, row) for name, axis in self.lists.items()}
        if not self.random:
            return values
        # One generator a sample, so that any run is known without those before it.
        generator = np.random.default_rng([self.seed, sample])
        for name, axis in self.random.items():
            if isinstance(axis, Span):
                values[name] = axis.at(float(generator.random()))
            else:
                values[name] = axis[int(generator.integers(len(axis)))]
        return values

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        content = asdict(self)
        for part in ("grid", "lists", "random"):
            axes = getattr(self, part)
            content[part] = {
                name: asdict(axis) if isinstance(axis, Span) else list(axis)
                for name, axis in axes.items()
            }
        return content

    @staticmethod
    def of(content: Mapping[str, Any]) -> Sweep:
        """The sweep that ``record`` wrote."""
        axes = {
            part: {
                name: Span(**axis) if isinstance(axis, dict) else axis
                for name, axis in content[part].items()
            }
            for part in ("grid", "lists", "random")
        }
        return Sweep(**{**content, **axes})


def _length(axis: Axis) -> int:
    return (axis.count or 1) if isinstance(axis, Span) else len(axis)


def _value(axis: Axis, place: int) -> Value:
    if isinstance(axis, Span):
        return axis.at(place / (_length(axis) - 1))
    return axis[place]
