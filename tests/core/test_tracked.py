# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from supple.core import Ground, SceneError, SoftBody
from supple.core.tracked import tracked
from supple.verification.meshes import block


def test_members_are_numbers_and_the_tensor_is_known() -> None:
    height = torch.tensor(0.25, requires_grad=True)
    ground = Ground(height)
    assert ground.height == 0.25 and isinstance(ground.height, float)
    assert tracked(ground) == {"height": height}
    assert tracked(replace(ground, friction=0.1)) == {}


def test_tensors_without_a_gradient_are_numbers_like_others() -> None:
    velocity = torch.tensor([1.0, 2.0, 3.0])
    body = SoftBody(block((1, 1, 1), (1, 1, 1)), velocity=velocity)
    assert body.velocity == (1.0, 2.0, 3.0) and tracked(body) == {}


def test_tensors_are_checked_as_numbers_are() -> None:
    with pytest.raises(SceneError, match="density must be above 0"):
        SoftBody(block((1, 1, 1), (1, 1, 1)), density=torch.tensor(-1.0, requires_grad=True))
