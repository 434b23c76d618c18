# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples do what they say, in small."""

from __future__ import annotations

import numpy as np

from supple.examples import follow_keys, hit_target, keep_shape, match_shape


def test_the_shelf_keeps_its_shape() -> None:
    assert keep_shape.main(cells=4) < 1e-5


def test_the_cube_hits_its_mark() -> None:
    assert hit_target.main().hits


def test_the_stiffness_of_root_and_tip_is_found() -> None:
    match = match_shape.main(cells=4, frames=3)
    np.testing.assert_allclose(match.young, [match_shape.ROOT, match_shape.TIP], rtol=0.05)


def test_the_cube_follows_its_keys() -> None:
    following = follow_keys.main(frames=4)
    assert following.follows
    assert following.effort > 1.0
