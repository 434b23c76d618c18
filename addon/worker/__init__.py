# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that simulates, and the Python and packages that it runs on."""
