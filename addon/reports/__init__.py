# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports on a scene and a run: problems, cures and results."""
