# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender may do with a setting."""

HIDDEN = {"HIDDEN"}
#: The solver takes it frame by frame.
KEYED = {"ANIMATABLE"}
#: The solver takes one value for the whole simulation, so a setting cannot be keyed or driven, and
#: shows no dot. Keys that an older file has on it no longer change it (``ignored`` names them).
NOT_KEYED: set[str] = set()
