# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of solving the linear system of an implicit step."""
