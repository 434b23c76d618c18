# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.verification.collider_meshes import sheet
from supple.verification.exact_intersections import count_intersections
from supple.verification.subjects import colliding_bodies, contact_slope, impact, two_spheres


def _corners(height: float):
    mesh = sheet(height)
    return mesh.at(0)[mesh.triangles]


def test_points_below_a_sheet_are_counted() -> None:
    points = np.array([[0.1, 0.2, 0.5], [0.1, 0.2, -0.5], [-0.4, 0.3, -1e-12], [3.0, 0.0, -1.0]])
    assert impact.count_below(points, _corners(0.0)) == 2
    # Under two layers of a sheet that is folded is above it again.
    assert impact.count_below(points, np.concatenate([_corners(0.0), _corners(1.0)])) == 1


def test_balls_pressed_together_do_not_touch_at_first_and_are_not_inside_out() -> None:
    meshes = [body.mesh for body in two_spheres._balls(6, 8.0)]
    assert all(mesh.rest_volumes.min() > 0.0 for mesh in meshes)
    shift = len(meshes[0].vertices)
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    triangles = np.concatenate([meshes[0].surface, meshes[1].surface + shift])
    assert count_intersections(vertices, triangles) == 0
    gap = meshes[0].vertices[:, 2].min() - meshes[1].vertices[:, 2].max()
    assert gap == pytest.approx(two_spheres.DISTANCE)


def test_a_force_off_by_a_tenth_fails_beside_hertz() -> None:
    approach = np.array(two_spheres.DEPTHS)
    force = two_spheres._hertz(approach)
    assert force[-1] == pytest.approx(0.1171, rel=1e-3)

    def holds(share: float) -> bool:
        found = [
            two_spheres.Pressing(approach, (1.0 + error) * share * force, 0)
            for error in (0.04, 0.03, 0.02, 0.01)
        ]
        pair = found[0], found[-1]
        checks = two_spheres._checks(found, {"convergent": pair, "original": pair})
        return all(check.holds for check in checks)

    assert holds(1.0)
    assert not holds(1.1)


def test_momentum_that_one_body_loses_alone_is_lost() -> None:
    course = colliding_bodies.Course(
        momenta=np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        first=np.array([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        size=4.0,
        spins=np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 1.0]]),
        unsolved=0,
    )
    assert (course.lost, course.exchanged, course.spin_lost) == (0.25, 0.25, 0.5)


def test_an_acceleration_is_that_of_the_speeds() -> None:
    time = np.arange(25) / contact_slope.FRAME_RATE
    slide = contact_slope.Slide(np.zeros(25), 0.3 + contact_slope._pull(0.49) * time)
    assert slide.acceleration == pytest.approx(0.08774, abs=1e-5)
    assert contact_slope._acceleration("", slide, 0.49).holds
    assert not contact_slope._acceleration("", slide, 0.48).holds
