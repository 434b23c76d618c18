# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of farms, by their names in menus and on command lines."""

from __future__ import annotations

OPEN_JOB, FLAMENCO = "open_job", "flamenco"
FORMATS = [
    (
        OPEN_JOB,
        "Open Job Description",
        "Write a folder with a template, which AWS Deadline Cloud and others submit",
    ),
    (
        FLAMENCO,
        "Flamenco",
        "Submit to the manager of Flamenco 3 at the address in Supple's preferences. Without an "
        "address, write a file",
    ),
]
