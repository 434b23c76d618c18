# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe a scene: plain objects that are checked when they are made. No torch here."""
