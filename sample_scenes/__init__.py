# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes to try Supple with, the script that builds them, and the demo."""
