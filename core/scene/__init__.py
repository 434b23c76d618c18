# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user writes: plain descriptions, checked when they are made. No torch here."""
