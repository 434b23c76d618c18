# SPDX-License-Identifier: GPL-3.0-or-later
"""3 × 3 matrices as torch tensors, (3, 3, M), component first: one matrix a tet.

Nothing here branches or looks at values, so that CUDA never waits. The compiled counterparts are in
``matrices.py`` and ``deformation.py``.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Four sweeps bring a 3 × 3 matrix to diagonal form in double precision, and one is to spare.
SWEEPS = 5


def matmul3(a: Tensor, b: Tensor) -> Tensor:
    """Matrix products of (3, 3, M) with (3, 3, M)."""
    out = a[:, :1] * b[0]
    out.addcmul_(a[:, 1:2], b[1])
    out.addcmul_(a[:, 2:], b[2])
    return out


def det3(matrices: Tensor) -> Tensor:
    """(M,) determinants."""
    x, y, z = matrices
    return (x * torch.linalg.cross(y, z, dim=0)).sum(0)


def trace3(matrices: Tensor) -> Tensor:
    """(M,) traces."""
    return matrices[0, 0] + matrices[1, 1] + matrices[2, 2]


def less_mean(matrices: Tensor) -> Tensor:
    """The deviators A − tr(A)/3 I."""
    mean = trace3(matrices) / 3.0
    return matrices - torch.eye(3).to(matrices)[:, :, None] * mean


def cofactors3(matrices: Tensor) -> Tensor:
    """(3, 3, M) det A A⁻ᵀ; of one (3, 3) matrix the same."""
    return torch.stack(_crossed(*matrices))


def inverses3(matrices: Tensor) -> tuple[Tensor, Tensor]:
    """(3, 3, M) inverses, and the (M,) determinants of what they are of."""
    columns = matrices.unbind(1)
    rows = _crossed(*columns)
    determinants = (columns[0] * rows[0]).sum(0)
    return torch.stack(rows) / determinants, determinants


def _crossed(a: Tensor, b: Tensor, c: Tensor) -> list[Tensor]:
    """(3, M) products of each two vectors, in the place of the third."""
    return [torch.linalg.cross(u, v, dim=0) for u, v in ((b, c), (c, a), (a, b))]


def diagonal(matrices: Tensor) -> Tensor:
    """(3, M) view."""
    return matrices.diagonal(dim1=0, dim2=1).T


def off_diagonal(values: Tensor) -> Tensor:
    """(3, 3, M) symmetric matrices with value k where row and column are the other two axes."""
    x, y, z = values
    zero = torch.zeros_like(x)
    return torch.stack([zero, z, y, z, zero, x, y, x, zero]).view(3, 3, -1)


def signed_svd(f: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Singular value decomposition f = U diag(σ) Vᵀ of (3, 3, M) matrices.

    Returns:
        U, σ and V: (3, 3, M) rotations and (3, M), largest first. The last of σ has the smallest
        magnitude and the sign of det f. Where f is singular U and V are rotations all the same.
    """
    values, v = diagonalize(matmul3(f.transpose(0, 1), f))
    v = _sort_columns(v, values)
    first, second, third = matmul3(f, v).unbind(1)
    tiny = torch.finfo(f.dtype).tiny
    largest = _length(first)
    upward = torch.zeros_like(first)
    upward[2] = 1.0
    u0 = torch.where(largest > tiny, first / largest, upward)
    second = second - (u0 * second).sum(0) * u0
    middle = _length(second)
    # What is left of a matrix of rank 1 is rounding, and has no direction.
    rounding = 50.0 * torch.finfo(f.dtype).eps * largest
    u1 = torch.where(middle > rounding + tiny, second / middle, _perpendicular(u0))
    u2 = u0.cross(u1, dim=0)
    sigma = torch.stack([largest, middle, (u2 * third).sum(0)])
    return torch.stack([u0, u1, u2], dim=1), sigma, v


def diagonalize(symmetric: Tensor) -> tuple[Tensor, Tensor]:
    """(3, M) eigenvalues, in no order, and (3, 3, M) rotations whose columns are eigenvectors.

    Cyclic Jacobi rotations: Golub and Van Loan, "Matrix Computations", section 8.5.
    """
    matrix, vectors = symmetric.clone(), torch.zeros_like(symmetric)
    diagonal(vectors).fill_(1.0)
    for _ in range(SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            cosine, sine = _annihilate(matrix, p, q)
            _rotate(vectors[:, p], vectors[:, q], cosine, sine)
    return diagonal(matrix), vectors


def _annihilate(matrix: Tensor, p: int, q: int) -> tuple[Tensor, Tensor]:
    """Makes the entry (p, q) zero; returns the cosine and sine of the rotation that does.

    Only the upper triangle is read and written.
    """
    entry, r = matrix[p, q], 3 - p - q
    difference = matrix[q, q] - matrix[p, p]
    # The smaller root of t² + t difference/entry = 1; 0 where there is nothing to do.
    root = torch.hypot(difference, 2.0 * entry) + torch.finfo(entry.dtype).tiny
    tangent = 2.0 * entry / (difference + torch.copysign(root, difference))
    cosine = (1.0 + tangent * tangent).rsqrt()
    sine = tangent * cosine
    shift = tangent * entry
    matrix[p, p] -= shift
    matrix[q, q] += shift
    entry.zero_()
    _rotate(matrix[min(p, r), max(p, r)], matrix[min(q, r), max(q, r)], cosine, sine)
    return cosine, sine


def _rotate(a: Tensor, b: Tensor, cosine: Tensor, sine: Tensor) -> None:
    rotated = cosine * a - sine * b
    b.mul_(cosine).addcmul_(sine, a)
    a.copy_(rotated)


def _sort_columns(columns: Tensor, values: Tensor) -> Tensor:
    """The columns of a rotation by falling value; one changes sign wherever two change places."""
    ordered, keys = list(columns.unbind(1)), list(values)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        stay = keys[a] >= keys[b]
        keys[a], keys[b] = torch.maximum(keys[a], keys[b]), torch.minimum(keys[a], keys[b])
        ordered[a], ordered[b] = (
            torch.where(stay, ordered[a], ordered[b]),
            torch.where(stay, ordered[b], -ordered[a]),
        )
    return torch.stack(ordered, dim=1)


def _perpendicular(direction: Tensor) -> Tensor:
    """A unit vector perpendicular to each of (3, M) others, without a branch.

    Source: Duff et al., "Building an Orthonormal Basis, Revisited", Journal of Computer Graphics
    Techniques 6(1), 2017.
    """
    x, y, z = direction
    sign = torch.copysign(torch.ones_like(z), z)
    factor = -x / (sign + z)
    return torch.stack([1.0 + sign * x * factor, sign * y * factor, -sign * x])


def _length(vectors: Tensor) -> Tensor:
    x, y, z = vectors
    return torch.hypot(torch.hypot(x, y), z)
