# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that find a rest shape, a throw, a stiffness or forces for an artist."""
