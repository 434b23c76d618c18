# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest


@pytest.fixture(params=["compiled", "passes"])
def method(request: pytest.FixtureRequest) -> str:
    """Whether compiled loops or torch passes serve."""
    if request.param == "passes":
        request.getfixturevalue("without_compiled_loops")
    return request.param
