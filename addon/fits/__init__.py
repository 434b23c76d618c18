# SPDX-License-Identifier: GPL-3.0-or-later
"""What the solver finds for an artist: the rest shape, the throw, the stiffness, the forces."""
