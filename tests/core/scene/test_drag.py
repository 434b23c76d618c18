# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that a drag slows, in free space."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.core import Channel, Paint, Scene, SceneError, Simulator, SoftBody, SurfaceMesh
from supple.core.integrators import BDF2, SDIRK2, XPBD, ImplicitEuler, Midpoint, SymplecticEuler
from supple.core.job.scene_file import decode, encode
from supple.core.materials import StableNeoHookean
from supple.core.preparation.transfers import with_painted_settings
from supple.verification.meshes import block

SPEED, FRAME, FRAMES = 3.0, 0.05, 8
#: From nothing to 6/s and back within the frames.
KEYS = [0.0, 2.0, 4.0, 6.0, 4.0, 2.0, 0.0, 0.0, 0.0]
SOFT = StableNeoHookean(1e4, 0.3)


def last_frame(body: SoftBody, integrator, **options):
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    *_, last = Simulator(scene, integrator, frame_time=FRAME, device="cpu", **options).run(FRAMES)
    return last


def thrown(**settings) -> SoftBody:
    return SoftBody(block((1, 1, 1)), SOFT, velocity=(SPEED, 0.0, 0.0), **settings)


@pytest.mark.parametrize(
    ("integrator", "substeps", "off"),
    [
        (ImplicitEuler(1e-9), 24, 0.03),
        (BDF2(1e-9), 16, 2e-3),
        (SDIRK2(1e-9), 16, 2e-3),
        (SymplecticEuler(), 400, 2e-3),
        (Midpoint(), 200, 2e-3),
        (XPBD(), 400, 2e-3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_keyed_drag_takes_what_its_integral_says(integrator, substeps, off) -> None:
    frame = last_frame(thrown(drag=Channel(KEYS)), integrator, substeps=substeps)
    # Straight from key to key: the integral is that of trapezia.
    expected = SPEED * math.exp(-FRAME * sum(KEYS))
    speeds = frame.velocities[0].numpy()
    np.testing.assert_allclose(speeds[:, 0], expected, rtol=off)
    np.testing.assert_allclose(speeds[:, 1:], 0.0, atol=1e-6)


def test_what_is_painted_half_loses_momentum_by_its_half() -> None:
    """A block as stiff as can be has the mean of the rates."""
    mesh = block((4, 1, 1))
    surface = SurfaceMesh(mesh.vertices, mesh.surface)
    half = np.where(mesh.vertices[:, 0] > mesh.vertices[:, 0].mean() - 1e-9, 1.0, 0.0)
    surface.paint = [Paint("drag", half)]
    painted = with_painted_settings(SoftBody(surface, SOFT, drag=2.0), surface, mesh)
    assert painted.drag_factors.shape == (len(mesh.tets),)
    share = mesh.lumped_mass(painted.drag_factors).sum() / mesh.lumped_mass(1.0).sum()
    assert 0.4 < share < 0.8
    stiff = SoftBody(
        *(mesh, StableNeoHookean(1e7, 0.3)),
        velocity=(SPEED, 0.0, 0.0),
        drag=2.0,
        drag_factors=painted.drag_factors,
        stiffness_damping=1e-3,
    )
    frame = last_frame(stiff, ImplicitEuler(1e-9), substeps=8)
    expected = SPEED * math.exp(-2.0 * share * FRAME * FRAMES)
    assert float(frame.velocities[0][:, 0].mean()) == pytest.approx(expected, rel=0.01)


def test_without_it_nothing_is_written_and_less_than_none_is_refused() -> None:
    arrays: dict = {}
    assert "drag" not in encode(thrown(), "body", arrays)
    body = decode(encode(thrown(drag=Channel(KEYS)), "body", arrays), arrays)
    np.testing.assert_array_equal(Channel.of(body.drag, "drag").samples, KEYS)
    with pytest.raises(SceneError, match="the drag per second must be 0 or more, not -1"):
        thrown(drag=-1.0)
