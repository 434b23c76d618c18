# SPDX-License-Identifier: GPL-3.0-or-later
"""From a scene as it is drawn to one that can run."""
