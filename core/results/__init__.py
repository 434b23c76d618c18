# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a simulated frame besides where everything is: fields, by name. No torch here."""

from .table import RESULTS, ResultRow, in_order

__all__ = ["RESULTS", "ResultRow", "in_order"]
