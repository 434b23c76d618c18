# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of symmetric matrices that autograd differentiates, eigenvalues that are alike too.

Source of the derivative: Daleckii and Krein, "Integration and differentiation of functions of
Hermitian operators", AMS Translations 47, 1965: in the basis of eigenvectors, by the divided
differences of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

#: Of numbers.
Function = Callable[[Tensor], Tensor]
#: (f(a) − f(b)) / (a − b), or the derivative where a and b are the same.
Quotient = Callable[[Tensor, Tensor], Tensor]


def logarithm(matrices: Tensor) -> Tensor:
    """Of positive definite (…, 3, 3)."""
    return _of(matrices, torch.log, _of_logarithm)


def exponential(matrices: Tensor) -> Tensor:
    """Of symmetric (…, 3, 3)."""
    return _of(matrices, torch.exp, _of_exponential)


def positive_part(matrices: Tensor) -> Tensor:
    """Of symmetric (…, 3, 3), what their positive eigenvalues make."""
    return _of(matrices, lambda values: values.clamp(min=0.0), _of_positive_part)


def _of_logarithm(a: Tensor, b: Tensor) -> Tensor:
    growth = (a - b) / b
    return torch.where(growth == 0.0, 1.0, growth.log1p() / _not_zero(growth)) / b


def _of_exponential(a: Tensor, b: Tensor) -> Tensor:
    rise = a - b
    return b.exp() * torch.where(rise == 0.0, 1.0, rise.expm1() / _not_zero(rise))


def _of_positive_part(a: Tensor, b: Tensor) -> Tensor:
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
    def backward(ctx: Any, wanted: Tensor) -> tuple[Tensor, None, None]:
        values, vectors = ctx.saved_tensors
        shares = ctx.quotient(values[..., :, None], values[..., None, :])
        turned = vectors.mT @ (0.5 * (wanted + wanted.mT)) @ vectors
        return vectors @ (shares * turned) @ vectors.mT, None, None
