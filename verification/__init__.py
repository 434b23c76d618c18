# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the solver right? Each subject sets it beside a closed form or an independent computation."""
