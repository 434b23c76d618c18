# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the look of simulated bodies: five of them dropped and squeezed as an artist would,
and measured.
"""
