# SPDX-License-Identifier: GPL-3.0-or-later
"""How simulated bodies look: five of them dropped and squeezed as an artist would, and measured."""
