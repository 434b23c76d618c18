# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradient noise, as Blender's turbulence has it.

Source: Perlin, "Improving Noise", ACM Transactions on Graphics 21, 2002; with the permutation of
Blender's own noise, which its turbulence takes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

# Each octave is as strong as half of the one before, at half its wavelength; together at most 1.
OCTAVES = 3
_PERMUTATION = np.frombuffer(
    bytes.fromhex(
        "A2A0193BF8EBAAEEF31C67281DED00DE952EDC3F3A82354D6CBA36D0F60C7932"
        "D159F4088B63892FB8B49783F28F18C751146587482042A880B54013B2227E57"
        "BC7F6B9D864CC8DB7CD5254E5A557450CDB37ABBC3CBB6E2E4ECFD980B96D39E"
        "5CA164F18161E1C42472498C904B843438AB78CA1F01D79311C158A931F9446D"
        "BF339C5F0994A38506C69A1E7B461530272B1B713C5BD66F62AC4FC2C00EB123"
        "A7DF47B0776905E9E6E776730FFE6E9B56EF12A537FCAED9038EDD10B9CEC98D"
        "DA2ABD68179FBED40ACCD2E8433D70B7027D99D80D608A042C3E92E5AF5307E0"
        "29A6C5E3F5F74A41266A165E522D21ADF091FFEA54FA661A4539CF75A488FB5D"
    ),
    dtype=np.uint8,
)
# To the middles of a cube's edges, four of them twice.
_GRADIENTS = (
    *((1, 1, 0), (-1, 1, 0), (1, -1, 0), (-1, -1, 0)),
    *((1, 0, 1), (-1, 0, 1), (1, 0, -1), (-1, 0, -1)),
    *((0, 1, 1), (0, -1, 1), (0, 1, -1), (0, -1, -1)),
    *((1, 1, 0), (0, -1, 1), (-1, 1, 0), (0, -1, -1)),
)
_CORNERS = tuple((x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1))


class GradientNoise:
    """
    Args:
        like: of whose device and type values are.
    """

    def __init__(self, like: Tensor) -> None:
        self._permutation = torch.as_tensor(_PERMUTATION.astype(np.int64), device=like.device)
        self._gradients = torch.tensor(_GRADIENTS).to(like).T.contiguous()
        self._corners = torch.tensor(_CORNERS, device=like.device).T.contiguous()

    def vectors(self, points: Tensor) -> Tensor:
        """(3, N) of noise without direction or divergence of its own, each −1 … 1.

        Args:
            points: (3, N), 1 the longest wavelength.
        """
        turned = torch.stack([points.roll(-shift, 0) for shift in range(3)], dim=1)
        scales = 2.0 ** torch.arange(OCTAVES, dtype=points.dtype, device=points.device)
        values = self.values((turned[:, :, None] * scales[:, None]).flatten(1))
        weights = 1.0 / scales
        octaves = values.view(3, OCTAVES, -1)
        return torch.einsum("iok,o->ik", octaves, weights / weights.sum())

    def values(self, points: Tensor) -> Tensor:
        """(N,) at (3, N) points."""
        cells = points.detach().floor()
        inside = points - cells
        # (3, 8, N) of the corners of each cell.
        corners = self._corners[:, :, None]
        x, y, z = (cells.long()[:, None] + corners) & 255
        hashed = self._permutation[(self._permutation[x] + y) & 255]
        hashed = self._permutation[(hashed + z) & 255] & 15
        away = inside[:, None] - corners
        slopes = (self._gradients[:, hashed] * away).sum(0)
        smooth = inside**3 * (inside * (6.0 * inside - 15.0) + 10.0)
        shares = torch.where(corners == 1, smooth[:, None], 1.0 - smooth[:, None]).prod(0)
        return (shares * slopes).sum(0)
