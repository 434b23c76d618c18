# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, params=["compiled loops", "torch passes"])
def way(request: pytest.FixtureRequest) -> None:
    if request.param == "torch passes":
        request.getfixturevalue("without_compiled_loops")
