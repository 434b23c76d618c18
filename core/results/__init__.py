# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of a simulated frame besides positions: fields, by name. No torch here."""

from .table import RESULTS, ResultRow, in_order

__all__ = ["RESULTS", "ResultRow", "in_order"]
