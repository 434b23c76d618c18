# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from supple.addon import command_line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1-60", (1, 60)),
        ("-5-5", (-5, 5)),
        ("-9--7", (-9, -7)),
        ("4-4", (4, 4)),
        ("7", (7, 7)),
        ("-7", (-7, -7)),
    ],
)
def test_frame_ranges(text: str, expected: tuple[int, int]) -> None:
    assert command_line.parsed_frames(text) == expected


@pytest.mark.parametrize("text", ["", "-", "1-", "60-1", "1-2-3", "1.5-2"])
def test_what_is_no_frame_range(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        command_line.parsed_frames(text)
