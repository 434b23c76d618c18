# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact: what touches, how it pushes, how it is found."""
