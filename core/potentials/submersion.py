# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a tet lies below a plane, exactly, and how that changes with its corners.

Of the depths d at the corners, which change linearly in between, the mean of max(0, d) over the tet
is found, and its derivatives: the first are the means of the shape functions over the part
below, the second those of their products over the cut. What lies below is a cap at the
deepest corner, a wedge on the two deepest, all but a cap at the highest, or all. Every sum is of
terms of one sign, so that nothing cancels wherever the plane is.
"""

from __future__ import annotations

import torch
from torch import Tensor


def mean_depth(depths: Tensor) -> Tensor:
    """(M,) mean of max(0, d), in metres, of (4, M) depths of corners."""
    d, _ = depths.sort(dim=0, descending=True)
    cap, top = _cap(d).sum(0) * d[0], _cap(-d.flip(0)).sum(0) * -d[3]
    a, b, p, q = _wedge_shares(d)
    wedge = a * b * (d[0] + d[1]) + (a * q * (1.0 - b) + p * q * (1.0 - a)) * d[1]
    mean = d.mean(0)
    return _chosen(d, cap / 4.0, wedge / 4.0, mean + top / 4.0, mean)


def submerged_shares(depths: Tensor) -> Tensor:
    """(4, M) shares of a tet's volume that are below the plane and belong to its corners."""
    d, order = depths.sort(dim=0, descending=True)
    three = 0.25 - _cap(-d.flip(0)).flip(0)
    shares = _chosen(d, _cap(d), _wedge(d), three, torch.full_like(d, 0.25))
    return torch.zeros_like(shares).scatter(0, order, shares)


def cut_products(depths: Tensor) -> Tensor:
    """(4, 4, M) second derivatives of the mean depth by the depths of corners, in 1/m."""
    d, order = depths.sort(dim=0, descending=True)
    three, none = _cap_cut(-d.flip(0)).flip(0, 1), d.new_zeros(4, *d.shape)
    products = _chosen(d, _cap_cut(d), _wedge_cut(d), three, none)
    rows = none.scatter(0, order[:, None].expand_as(none), products)
    return none.scatter(1, order[None].expand_as(none), rows)


def _chosen(d: Tensor, one: Tensor, two: Tensor, three: Tensor, four: Tensor) -> Tensor:
    """Of what holds with so many of the descending depths below, what does; none is zero."""
    found = torch.where(d[0] > 0.0, one, torch.zeros_like(one))
    for depth, value in ((d[1], two), (d[2], three), (d[3], four)):
        found = torch.where(depth > 0.0, value, found)
    return found


def _cap(d: Tensor) -> Tensor:
    """Where the first corner alone is below: (4, M) shares."""
    s = d[0] / (d[0] - d[1:])
    return torch.cat([(4.0 - s.sum(0))[None], s]) * (s.prod(0) / 4.0)


def _cap_cut(d: Tensor) -> Tensor:
    """Where the first corner alone is below: (4, 4, M) products of the cut."""
    s = d[0] / (d[0] - d[1:])
    cuts = [_cut(0, j, s[j - 1]) for j in (1, 2, 3)]
    return _section(cuts, 3.0 * s[0] * s[1] / (d[0] - d[3]))


def _wedge_shares(d: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Where the plane cuts the edges from the first two corners up to the others, as shares."""
    a, b = d[0] / (d[0] - d[2:])
    p, q = d[1] / (d[1] - d[2:])
    return a, b, p, q


def _wedge(d: Tensor) -> Tensor:
    """Where the first two corners are below: (4, M) shares."""
    a, b, p, q = _wedge_shares(d)
    # Three tets make it up, whose volumes are determinants of the shape functions of their
    # corners: of the first two of all and two cuts, and twice of the second and three cuts.
    one, two, three = a * b, a * q * (1.0 - b), p * q * (1.0 - a)
    corners = [
        one * (3.0 - a - b) + two * (2.0 - a - b) + three * (1.0 - a),
        one + two * (2.0 - q) + three * (3.0 - p - q),
        one * a + two * a + three * (a + p),
        one * b + two * (b + q) + three * q,
    ]
    return torch.stack(corners) / 4.0


def _wedge_cut(d: Tensor) -> Tensor:
    """Where the first two corners are below: (4, 4, M) products of the cut, two triangles."""
    a, b, p, q = _wedge_shares(d)
    c02, c03, c12, c13 = _cut(0, 2, a), _cut(0, 3, b), _cut(1, 2, p), _cut(1, 3, q)
    width = (d[0] - d[2]) / 3.0
    one = _section([c02, c03, c13], (1.0 - q) * b / width)
    return one + _section([c02, c12, c13], (1.0 - p) * q / width)


def _cut(below: int, above: int, share: Tensor) -> Tensor:
    """(4, M) shape functions where the plane cuts an edge, a ``share`` of the way up."""
    values = [torch.zeros_like(share)] * 4
    values[below], values[above] = 1.0 - share, share
    return torch.stack(values)


def _section(corners: list[Tensor], weight: Tensor) -> Tensor:
    """(4, 4, M) means of products of shape functions over a triangle, times its weight."""
    total = sum(corners, start=torch.zeros_like(corners[0]))
    products = total[:, None] * total[None]
    for corner in corners:
        products = products + corner[:, None] * corner[None]
    return weight / 12.0 * products
