# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of symmetric matrices, with their derivatives.

Source: Daleckii and Krein, "Integration and differentiation of functions of Hermitian operators and
applications to the theory of perturbations", AMS Translations 47, 1965.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

#: A function of tensors.
Function = Callable[[Tensor], Tensor]
#: (f(a) − f(b)) / (a − b), or the derivative where a and b are the same.
Quotient = Callable[[Tensor, Tensor], Tensor]


def logarithm(matrices: Tensor) -> Tensor:
    """Return the logarithms of positive definite (…, 3, 3) matrices."""
    return _of(matrices, torch.log, _logarithm_quotient)


def exponential(matrices: Tensor) -> Tensor:
    """Return the exponentials of symmetric (…, 3, 3) matrices."""
    return _of(matrices, torch.exp, _exponential_quotient)


def positive_part(matrices: Tensor) -> Tensor:
    """Return the positive parts of symmetric (…, 3, 3) matrices: those of their positive
    eigenvalues."""
    return _of(matrices, lambda values: values.clamp(min=0.0), _positive_part_quotient)


def _logarithm_quotient(a: Tensor, b: Tensor) -> Tensor:
    growth = (a - b) / b
    return torch.where(growth == 0.0, 1.0, growth.log1p() / _not_zero(growth)) / b


def _exponential_quotient(a: Tensor, b: Tensor) -> Tensor:
    rise = a - b
    return b.exp() * torch.where(rise == 0.0, 1.0, rise.expm1() / _not_zero(rise))


def _positive_part_quotient(a: Tensor, b: Tensor) -> Tensor:
    rise = a - b
    quotient = (a.clamp(min=0.0) - b.clamp(min=0.0)) / _not_zero(rise)
    return torch.where(rise == 0.0, (a > 0.0).to(a), quotient)


def _not_zero(values: Tensor) -> Tensor:
    return torch.where(values == 0.0, 1.0, values)


def _of(matrices: Tensor, function: Function, quotient: Quotient) -> Tensor:
    apply: Callable[..., Tensor] = _Symmetric.apply
    return apply(matrices, function, quotient)


class _Symmetric(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrices: Tensor, function: Function, quotient: Quotient) -> Tensor:
        values, vectors = torch.linalg.eigh(matrices)
        ctx.save_for_backward(values, vectors)
        ctx.quotient = quotient
        return (vectors * function(values)[..., None, :]) @ vectors.mT

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        values, vectors = ctx.saved_tensors
        shares = ctx.quotient(values[..., :, None], values[..., None, :])
        turned = vectors.mT @ (0.5 * (upstream + upstream.mT)) @ vectors
        return vectors @ (shares * turned) @ vectors.mT, None, None
