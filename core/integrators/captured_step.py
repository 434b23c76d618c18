# SPDX-License-Identifier: GPL-3.0-or-later
"""An explicit substep as a CUDA graph: one launch in place of some fifty.

On CUDA, handing out the passes of a substep takes longer than they do. Recorded once and replayed,
they follow each other without the host.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

# Libraries set themselves up in the first runs, which must not be recorded.
WARM_UPS = 3


class CapturedStep:
    """Does again what ``step`` does, and leaves its tensors changed as if it had run some times.

    Args:
        step: works on CUDA tensors that stay in place, and never looks at their values.
    """

    def __init__(self, step: Callable[[], None]) -> None:
        # The graph works on the tensors that the substep holds.
        self._step = step
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=stream):
            step()

    def __call__(self) -> None:
        self._graph.replay()
