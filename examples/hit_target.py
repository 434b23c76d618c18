# SPDX-License-Identifier: GPL-3.0-or-later
"""A cube is thrown on the floor so that it bounces to where another throw has led."""

from __future__ import annotations

from ..core import Ground, Scene, Simulator, SoftBody
from ..core.adjoint import Throw, hit_target
from ..core.materials import StableNeoHookean
from .bar import box


def main(frames: int = 4) -> Throw:
    """The throw."""
    mesh = box((0.1, 0.1, 0.1), 0.1, height=0.03)

    def thrown(velocity: tuple[float, float, float]) -> Scene:
        body = SoftBody(mesh, StableNeoHookean(young=2e4), velocity=velocity)
        return Scene([body], ground=Ground(friction=0.3))

    *_, seen = Simulator(thrown((1.0, 0.3, -1.2)), substeps=2).run(frames)
    masses = mesh.lumped_mass(1000.0)
    mark = masses @ seen.positions[0].numpy() / masses.sum()
    throw = hit_target(thrown((0.6, 0.0, -0.8)), mark, frames, substeps=2)
    print(f"Thrown with {', '.join(f'{v:.2f}' for v in throw.velocity)} m/s it comes within")
    print(
        f"{throw.distance * 1000:.2f} mm of the mark at frame {frames}, after {throw.runs} tries."
    )
    return throw


if __name__ == "__main__":
    main()
