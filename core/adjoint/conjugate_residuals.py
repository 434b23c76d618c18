# SPDX-License-Identifier: GPL-3.0-or-later
"""Solves for matrices that are not symmetric, with a preconditioner that need not be exact."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

MAX_DIRECTIONS = 60
# The least part of an image that is orthogonal to earlier ones; less is rounding.
ROUNDING_RATIO = 1e-12

Map = Callable[[Tensor], Tensor]


def conjugate_residuals(
    image: Map, precondition: Map, rhs: Tensor, scale: Tensor, tolerance: float
) -> Tensor | None:
    """x with image(x) = rhs; None where it is not found.

    Args:
        image: linear.
        precondition: about its inverse.
        rhs: of any shape.
        scale: of that shape, by which residuals are multiplied to be comparable.
        tolerance: on the norm of the residual, in units of that of ``rhs``.

    Source: Eisenstat, Elman and Schultz, "Variational Iterative Methods for Nonsymmetric Systems of
    Linear Equations", SIAM Journal on Numerical Analysis 20, 1983, the generalized method.
    """
    solution, residual = torch.zeros_like(rhs), scale * rhs
    size = float(residual.norm())
    directions: list[Tensor] = []
    images: list[Tensor] = []
    while float(residual.norm()) > tolerance * size:
        if len(images) == MAX_DIRECTIONS:
            return None
        direction_next = precondition(residual / scale)
        reached = scale * image(direction_next)
        whole = float(reached.norm())
        for direction, before in zip(directions, images, strict=True):
            along = float((before * reached).sum())
            direction_next, reached = direction_next - along * direction, reached - along * before
        length = float(reached.norm())
        if not length > ROUNDING_RATIO * whole:
            return None
        directions.append(direction_next / length)
        images.append(reached / length)
        along = float((images[-1] * residual).sum())
        solution, residual = solution + along * directions[-1], residual - along * images[-1]
    return solution
