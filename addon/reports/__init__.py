# SPDX-License-Identifier: GPL-3.0-or-later
"""What is reported of a scene and of a run: what is wrong, what helps, how it went."""
