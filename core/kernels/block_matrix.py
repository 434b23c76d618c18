# SPDX-License-Identifier: GPL-3.0-or-later
"""Block matrices: sums of element blocks, products, and conjugate gradients on two levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled, shared_range
from ..math3.matrices import add3, transposed

NO_BLOCK = (0.0,) * 9


@compiled(parallel=True)
def add_elements(targets: Any, codes: Any, blocks: Any, out: Any) -> None:
    """Adds to (B, 9) ``out`` the (M · 10, 9) ``blocks`` that an ``ElementMap`` names for each."""
    places, mirrors, offsets = targets
    for target in shared_range(len(places)):
        total = NO_BLOCK
        for source in range(offsets[target], offsets[target + 1]):
            code = codes[source]
            b = blocks[max(code, ~code)]
            if code >= 0:
                total = add3(total, (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]))
            else:
                total = add3(total, (b[0], b[3], b[6], b[1], b[4], b[7], b[2], b[5], b[8]))
        place, mirror = places[target], mirrors[target]
        _add(total, out[place])
        if mirror != place:
            _add(transposed(total), out[mirror])


@compiled()
def _add(m: Any, out: Any) -> None:
    for entry in range(9):
        out[entry] += m[entry]


@compiled(parallel=True, allocates=True)
def add_coarse(
    offsets: Any,
    columns: Any,
    values: Any,
    group_offsets: Any,
    group_of: Any,
    centroid_offsets: Any,
    out: Any,
) -> None:
    """Adds Zᵀ A Z, where row i of Z moves unknown i by the translation t and rotation w of its
    group: t + w × centroid offset."""
    for group in shared_range(len(group_offsets) - 1):
        rows = out[6 * group : 6 * group + 6]
        image = np.empty((3, 6))
        for i in range(group_offsets[group], group_offsets[group + 1]):
            for block in range(offsets[i], offsets[i + 1]):
                j, a = columns[block], values[block]
                first = 6 * group_of[j]
                x, y, z = centroid_offsets[j, 0], centroid_offsets[j, 1], centroid_offsets[j, 2]
                for c in range(3):
                    a0, a1, a2 = a[3 * c], a[3 * c + 1], a[3 * c + 2]
                    image[c, 0], image[c, 1], image[c, 2] = a0, a1, a2
                    image[c, 3] = y * a2 - z * a1
                    image[c, 4] = z * a0 - x * a2
                    image[c, 5] = x * a1 - y * a0
                x, y, z = centroid_offsets[i, 0], centroid_offsets[i, 1], centroid_offsets[i, 2]
                for k in range(6):
                    f0, f1, f2 = image[0, k], image[1, k], image[2, k]
                    rows[0, first + k] += f0
                    rows[1, first + k] += f1
                    rows[2, first + k] += f2
                    rows[3, first + k] += y * f2 - z * f1
                    rows[4, first + k] += z * f0 - x * f2
                    rows[5, first + k] += x * f1 - y * f0


@compiled()
def _turn(p: Any, z: Any, beta: float, start: int, end: int) -> None:
    """The next search direction of some rows: p ← z + β p."""
    for i in range(start, end):
        for c in range(3):
            p[i, c] = z[i, c] + beta * p[i, c]


@compiled()
def _precondition_group(
    groups: Any, inverse: Any, coarse_correction: Any, r: Any, z: Any, group: int
) -> float:
    """z of the rows of a group, and their share of rᵀz."""
    offsets, group_of, centroid_offsets = groups
    total = 0.0
    for i in range(offsets[group], offsets[group + 1]):
        total += _precondition(inverse, coarse_correction, group_of, centroid_offsets, r, z, i)
    return total


@compiled()
def _multiply_group(
    groups: Any, matrix: Any, off_pattern: Any, p: Any, q: Any, group: int
) -> float:
    """q of the rows of a group, and their share of pᵀq."""
    total = 0.0
    for i in range(groups[0][group], groups[0][group + 1]):
        total += _multiply_row(matrix, off_pattern, p, q, i)
    return total


@compiled(parallel=True)
def solve(
    matrix: Any,
    off_pattern: Any,
    groups: Any,
    inverses: Any,
    rank_ones: Any,
    work: Any,
    tolerances: Any,
) -> tuple[int, int]:
    """The iterations it took, and which ``END`` it came to.

    Args:
        matrix, off_pattern: starts, columns and values of the blocks of each row.
        groups: the start of each group, the group of each row, and the rows' offsets from its
            centroid.
        inverses: of the diagonal blocks, and of the matrix between the groups.
        rank_ones: of a ``RankOneUpdate`` directions and solutions, (K, N, 3), factors, inverse
            capacitance, and room for (2, K) numbers.
        work: x, r, z, p and q, (5, N, 3), with zero, the right-hand side and zero for x, r and p;
            residual and correction of the groups; a sum of each; energies.
        tolerances: relative and absolute, squared.
    """
    group_offsets, (inverse, coarse_inverse) = groups[0], inverses
    vectors, coarse, sums, energies = work
    r, z, p, q = vectors[1], vectors[2], vectors[3], vectors[4]
    coarse_residual, coarse_correction = coarse[0], coarse[1]
    count = len(group_offsets) - 1
    rho, step = 0.0, 0.0
    for iteration in range(len(energies)):
        # r lacks only the last step; the coarse residual is gathered on the way.
        for group in shared_range(count):
            _step_and_gather(groups, vectors, step, iteration > 0, coarse_residual, group)
        if iteration == len(energies) - 1:
            return iteration, 1
        if _is_converged(energies, iteration, tolerances):
            return iteration, 0
        for group in shared_range(count):
            first = 6 * group
            rows = coarse_inverse[first : first + 6]
            _multiply_six(rows, coarse_residual, coarse_correction, first)
        for group in shared_range(count):
            sums[group] = _precondition_group(groups, inverse, coarse_correction, r, z, group)
        previous, rho = rho, _total(sums) - _correct(rank_ones, z)
        if not rho > 0.0:
            return iteration, 0 if rho == 0.0 else 2
        beta = rho / previous if iteration > 0 else 0.0
        for group in shared_range(count):
            _turn(p, z, beta, group_offsets[group], group_offsets[group + 1])
        for group in shared_range(count):
            sums[group] = _multiply_group(groups, matrix, off_pattern, p, q, group)
        curvature = _total(sums) + _add_rank_ones(rank_ones, p, q)
        if not curvature > 0.0:
            return iteration, 2
        step = rho / curvature
        energies[iteration + 1] = energies[iteration] + step * rho
    return 0, 1


@compiled()
def _correct(rank_ones: Any, z: Any) -> float:
    """z ← z − Z (C⁻¹ + UᵀZ)⁻¹ Uᵀ z of a preconditioned residual; by how much less that is its
    product with the residual."""
    directions, solutions, _, inverse_capacitance, work = rank_ones
    along, parts = work[0], work[1]
    change = 0.0
    for k in range(len(directions)):
        along[k] = _dot(directions[k], z)
    for k in range(len(directions)):
        parts[k] = 0.0
        for m in range(len(directions)):
            parts[k] += inverse_capacitance[k, m] * along[m]
        # Uᵀ z = Zᵀ r, the preconditioner being symmetric.
        change += parts[k] * along[k]
        _add_scaled(-parts[k], solutions[k], z)
    return change


@compiled()
def _add_rank_ones(rank_ones: Any, p: Any, q: Any) -> float:
    """q ← q + Σ c u (u · p); the sum of terms added to its product with p."""
    directions, _, factors, _, _ = rank_ones
    change = 0.0
    for k in range(len(directions)):
        along = _dot(directions[k], p)
        change += factors[k] * along * along
        _add_scaled(factors[k] * along, directions[k], q)
    return change


@compiled()
def _dot(a: Any, b: Any) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i, 0] * b[i, 0] + a[i, 1] * b[i, 1] + a[i, 2] * b[i, 2]
    return total


@compiled()
def _add_scaled(factor: float, vectors: Any, out: Any) -> None:
    for i in range(len(out)):
        for c in range(3):
            out[i, c] += factor * vectors[i, c]


@compiled()
def precondition_all(groups: Any, inverses: Any, vectors: Any, coarse: Any) -> None:
    """z of r, with the vectors and the coarse ones of ``solve``."""
    offsets, group_of, centroid_offsets = groups
    inverse, coarse_inverse = inverses
    for group in range(len(offsets) - 1):
        _step_and_gather(groups, vectors, 0.0, False, coarse[0], group)
    for group in range(len(offsets) - 1):
        _multiply_six(coarse_inverse[6 * group : 6 * group + 6], coarse[0], coarse[1], 6 * group)
    for i in range(len(group_of)):
        _precondition(inverse, coarse[1], group_of, centroid_offsets, vectors[1], vectors[2], i)


@compiled()
def _step_and_gather(
    groups: Any, vectors: Any, step: float, moves: bool, coarse_residual: Any, group: int
) -> None:
    """Takes the last step in the rows of a group, and gathers its coarse residual."""
    offsets, _, centroid_offsets = groups
    x, r, p, q = vectors[0], vectors[1], vectors[3], vectors[4]
    t0, t1, t2, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(offsets[group], offsets[group + 1]):
        if moves:
            for c in range(3):
                x[i, c] += step * p[i, c]
                r[i, c] -= step * q[i, c]
        r0, r1, r2 = r[i, 0], r[i, 1], r[i, 2]
        a0, a1, a2 = centroid_offsets[i, 0], centroid_offsets[i, 1], centroid_offsets[i, 2]
        t0, t1, t2 = t0 + r0, t1 + r1, t2 + r2
        w0, w1, w2 = w0 + a1 * r2 - a2 * r1, w1 + a2 * r0 - a0 * r2, w2 + a0 * r1 - a1 * r0
    group_residual = coarse_residual[6 * group : 6 * group + 6]
    group_residual[0], group_residual[1], group_residual[2] = t0, t1, t2
    group_residual[3], group_residual[4], group_residual[5] = w0, w1, w2


@compiled()
def _is_converged(energies: Any, iteration: int, tolerances: Any) -> bool:
    """Whether the gain of the last iterations, an estimate of the error before them, is small
    enough.

    Source: Strakos and Tichy, "Error estimation in preconditioned conjugate gradients", BIT 45,
    2005.
    """
    relative, absolute = tolerances
    before = iteration - 3 - iteration // 4
    if before <= 0:
        return False
    error = energies[iteration] - energies[before]
    return bool(error <= max(relative * energies[iteration], absolute))


@compiled()
def _multiply_six(rows: Any, vector: Any, out: Any, first: int) -> None:
    """Six rows at once, so that no sum waits for itself."""
    t0, t1, t2, t3, t4, t5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(len(vector)):
        value = vector[m]
        t0, t1, t2 = t0 + rows[0, m] * value, t1 + rows[1, m] * value, t2 + rows[2, m] * value
        t3, t4, t5 = t3 + rows[3, m] * value, t4 + rows[4, m] * value, t5 + rows[5, m] * value
    out[first], out[first + 1], out[first + 2] = t0, t1, t2
    out[first + 3], out[first + 4], out[first + 5] = t3, t4, t5


@compiled()
def invert_blocks(blocks: Any, out: Any) -> None:
    """Inverses of symmetric 3 × 3 blocks, by their cofactors."""
    for i in range(len(blocks)):
        a, b = blocks[i], out[i]
        b[0] = a[4] * a[8] - a[5] * a[5]
        b[1] = a[2] * a[5] - a[1] * a[8]
        b[2] = a[1] * a[5] - a[2] * a[4]
        b[4] = a[0] * a[8] - a[2] * a[2]
        b[5] = a[1] * a[2] - a[0] * a[5]
        b[8] = a[0] * a[4] - a[1] * a[1]
        scale = 1.0 / (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
        b[3], b[6], b[7] = b[1], b[2], b[5]
        for k in range(9):
            b[k] *= scale


@compiled()
def _precondition(
    inverse: Any,
    coarse_correction: Any,
    group_of: Any,
    centroid_offsets: Any,
    r: Any,
    z: Any,
    i: int,
) -> Any:
    """z = D⁻¹ r + Z (Zᵀ A Z)⁻¹ Zᵀ r in row i; returns its scalar product with r."""
    b, m = inverse[i], coarse_correction[6 * group_of[i] : 6 * group_of[i] + 6]
    r0, r1, r2 = r[i, 0], r[i, 1], r[i, 2]
    a0, a1, a2 = centroid_offsets[i, 0], centroid_offsets[i, 1], centroid_offsets[i, 2]
    z0 = b[0] * r0 + b[1] * r1 + b[2] * r2 + m[0] + m[4] * a2 - m[5] * a1
    z1 = b[3] * r0 + b[4] * r1 + b[5] * r2 + m[1] + m[5] * a0 - m[3] * a2
    z2 = b[6] * r0 + b[7] * r1 + b[8] * r2 + m[2] + m[3] * a1 - m[4] * a0
    z[i, 0], z[i, 1], z[i, 2] = z0, z1, z2
    return r0 * z0 + r1 * z1 + r2 * z2


@compiled()
def _multiply_row(matrix: Any, off_pattern: Any, p: Any, q: Any, i: int) -> Any:
    """q = A p in row i, A the sum of both; returns its scalar product with p."""
    q0, q1, q2 = _row_product(matrix, p, i)
    if off_pattern[0][i] < off_pattern[0][i + 1]:
        f0, f1, f2 = _row_product(off_pattern, p, i)
        q0, q1, q2 = q0 + f0, q1 + f1, q2 + f2
    q[i, 0], q[i, 1], q[i, 2] = q0, q1, q2
    return p[i, 0] * q0 + p[i, 1] * q1 + p[i, 2] * q2


@compiled()
def _row_product(matrix: Any, p: Any, i: int) -> tuple[Any, Any, Any]:
    offsets, columns, values = matrix
    q0, q1, q2 = 0.0, 0.0, 0.0
    for block in range(offsets[i], offsets[i + 1]):
        j, b = columns[block], values[block]
        p0, p1, p2 = p[j, 0], p[j, 1], p[j, 2]
        q0 += b[0] * p0 + b[1] * p1 + b[2] * p2
        q1 += b[3] * p0 + b[4] * p1 + b[5] * p2
        q2 += b[6] * p0 + b[7] * p1 + b[8] * p2
    return q0, q1, q2


@compiled()
def _total(sums: Any) -> float:
    """In their order: threads that share a sum may take it in any."""
    total = 0.0
    for value in sums:
        total += value
    return total
