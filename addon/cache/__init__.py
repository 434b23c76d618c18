# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of simulated frames on the disk."""
