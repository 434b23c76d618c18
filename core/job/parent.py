# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that started this one."""

from __future__ import annotations

import os
import threading

STANDARD_INPUT = 0
#: The exit status of a process whose parent has ended.
PARENT_ENDED = 3


def stop_when_input_closes() -> None:
    """Ends this process when standard input does. Files are whole at any moment, so it may."""

    def wait() -> None:
        # Not through sys.stdin: its lock would still be held when the interpreter shuts down.
        while os.read(STANDARD_INPUT, 4096):
            pass
        os._exit(PARENT_ENDED)

    threading.Thread(target=wait, daemon=True).start()
