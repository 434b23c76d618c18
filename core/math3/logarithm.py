# SPDX-License-Identifier: GPL-3.0-or-later
"""The natural logarithm by operations that LLVM turns into vector instructions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled

# Of a double: bits of the fraction, and the bits of √½.
_FRACTION_BITS, _ROOT_OF_HALF = np.int64(52), np.float64(np.sqrt(0.5)).view(np.int64)
# ln 2 as a sum: the first has so few bits that its product with an exponent is exact.
_LN2, _LN2_REMAINDER = 0.6931471803691238, 1.9082149292705877e-10


@compiled(inline=True)
def logarithm(value: Any) -> Any:
    """ln x of a finite x > 0 that is no denormal number, to a unit in the last place.

    With x = 2ⁿ (1 + f) and s = f / (2 + f), ln (1 + f) = 2 artanh s = f − f²/2 + s (f²/2 + r),
    where r = 2 s²/3 + 2 s⁴/5 + …; 1 + f is between √½ and √2, where nine terms suffice.
    """
    bits = np.float64(value).view(np.int64)
    exponent = (bits - _ROOT_OF_HALF) >> _FRACTION_BITS
    f = np.int64(bits - (exponent << _FRACTION_BITS)).view(np.float64) - 1.0
    s, half = f / (2.0 + f), 0.5 * f * f
    z = s * s
    # Written out, since a loop over numbers would be one over memory.
    r = z * (2.0 / 13.0 + z * (2.0 / 15.0 + z * (2.0 / 17.0 + z * (2.0 / 19.0))))
    r = z * (2.0 / 5.0 + z * (2.0 / 7.0 + z * (2.0 / 9.0 + z * (2.0 / 11.0 + r))))
    n = np.float64(exponent)
    return n * _LN2 - ((half - (s * (half + z * (2.0 / 3.0 + r)) + n * _LN2_REMAINDER)) - f)
