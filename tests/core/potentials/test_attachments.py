# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Attachment, Scene, SceneError, Skin, SoftBody
from supple.core.materials import StableNeoHookean
from supple.core.potentials.attachments import STIFFNESS_FACTOR, Attachments
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene

LIKE = torch.zeros(1, dtype=torch.float64)


@pytest.fixture
def scene(make_block) -> Scene:
    """Two blocks beside each other, of different cells, the second attached to the first, and
    turned and sheared at the start; the third is attached to nothing."""
    lower = SoftBody(make_block((2, 2, 2)), StableNeoHookean(1e4, 0.3))
    upper = make_block((1, 3, 2), (1.0, 1.0, 1.0), (0.2, 0.1, 1.05))
    sheared = upper.vertices @ np.array([[0.9, 0.2, 0.0], [-0.3, 1.1, 0.1], [0.0, 0.1, 1.0]])
    points = np.flatnonzero(upper.vertices[:, 2] < 1.1)
    bodies = [
        lower,
        SoftBody(make_block((1, 1, 1), origin=(5.0, 0.0, 0.0))),
        SoftBody(upper, StableNeoHookean(2e4, 0.3), initial_positions=sheared),
    ]
    return Scene(bodies, attachments=[Attachment(2, points, 0)])


def _starts(scene: Scene) -> list[int]:
    return np.cumsum([0, *(len(body.mesh.vertices) for body in scene.bodies)]).tolist()


def _start(scene: Scene) -> torch.Tensor:
    shapes = [
        body.mesh.vertices if body.initial_positions is None else body.initial_positions
        for body in scene.bodies
    ]
    return torch.as_tensor(np.concatenate(shapes).T.copy())


def _of(scene: Scene) -> Attachments:
    attachments = Attachments.from_scene(scene, _starts(scene), LIKE)
    assert attachments is not None
    return attachments


def _gradient(attachments: Attachments, positions: torch.Tensor) -> torch.Tensor:
    gradient = torch.zeros_like(positions)
    attachments.add_gradient(positions, gradient)
    return gradient


def _shaken(scene: Scene) -> torch.Tensor:
    start, generator = _start(scene), torch.Generator().manual_seed(1)
    return start + 0.05 * torch.randn(start.shape, generator=generator, dtype=torch.float64)


def test_nothing_pulls_at_the_start(scene) -> None:
    attachments, start = _of(scene), _start(scene)
    assert float(attachments.energy(start)) < 1e-20
    assert float(_gradient(attachments, start).abs().max()) < 1e-8
    assert float(attachments.energy(_shaken(scene))) > 1.0


def test_the_gradient_is_the_finite_difference_of_the_energy(scene) -> None:
    attachments, positions = _of(scene), _shaken(scene)
    generator = torch.Generator().manual_seed(2)
    for _ in range(5):
        along = 1e-3 * torch.randn(positions.shape, generator=generator, dtype=torch.float64)
        rise = attachments.energy(positions + along) - attachments.energy(positions - along)
        # The energy is quadratic: the difference is exact to rounding.
        slope = 2.0 * float((_gradient(attachments, positions) * along).sum())
        assert float(rise) == pytest.approx(slope, rel=1e-9)


def test_the_gradient_is_added_to_what_is_there(scene) -> None:
    attachments, positions = _of(scene), _shaken(scene)
    out = torch.ones_like(positions)
    attachments.add_gradient(positions, out)
    torch.testing.assert_close(out - 1.0, _gradient(attachments, positions))


def test_the_hessian_is_the_difference_of_gradients(scene) -> None:
    attachments, start = _of(scene), _start(scene)
    hessian = attachments.hessian()
    assert hessian.shape == (start.numel(), start.numel())
    moved = _shaken(scene)
    expected = _gradient(attachments, moved) - _gradient(attachments, start)
    found = hessian @ (moved - start).T.numpy().ravel()
    np.testing.assert_allclose(found.reshape(-1, 3).T, expected.numpy(), atol=1e-8)


def test_the_hessian_is_symmetric_and_positive_semi_definite(scene) -> None:
    dense = _of(scene).hessian().toarray()
    np.testing.assert_allclose(dense, dense.T)
    values = np.linalg.eigvalsh(dense)
    assert values.min() > -1e-9 * values.max() and values.max() > 0.0


def test_joints_change_neither_momentum_nor_angular_momentum(scene) -> None:
    positions = _shaken(scene)
    forces = -_gradient(_of(scene), positions)
    largest = float(forces.abs().max())
    assert float(forces.sum(dim=1).abs().max()) < 1e-12 * largest
    torque = torch.linalg.cross(positions, forces, dim=0).sum(dim=1)
    assert float(torque.abs().max()) < 1e-12 * largest


def test_moving_and_turning_everything_changes_no_energy(scene) -> None:
    attachments, positions = _of(scene), _shaken(scene)
    turn = torch.linalg.qr(torch.arange(9.0, dtype=torch.float64).reshape(3, 3).square())[0]
    shift = torch.tensor([[3.0], [-1.0], [2.0]], dtype=torch.float64)
    assert float(attachments.energy(turn @ positions + shift)) == pytest.approx(
        float(attachments.energy(positions)), rel=1e-10
    )


def test_only_attached_vertices_and_the_tets_around_their_places_are_pulled(scene) -> None:
    pulled = _gradient(_of(scene), _shaken(scene)).abs().sum(dim=0).numpy() > 0.0
    lower, apart, upper = np.split(pulled, _starts(scene)[1:-1])
    assert not apart.any()
    np.testing.assert_array_equal(np.flatnonzero(upper), scene.attachments[0].points)
    # The top layer of cells alone.
    assert lower.any()
    assert (scene.bodies[0].mesh.vertices[lower, 2] > 0.4).all()


def test_the_stiffer_side_decides_how_firm_a_joint_is(make_block) -> None:
    ends = [make_block((1, 1, 1)), make_block((1, 1, 1), origin=(0.0, 0.0, 1.0))]
    bodies = [SoftBody(ends[0], StableNeoHookean(1e4)), SoftBody(ends[1], StableNeoHookean(3e4))]
    for body, other in ((0, 1), (1, 0)):
        scene = Scene(bodies, attachments=[Attachment(body, [0], other)])
        corner = 3 * (8 * body)
        edge = (3.0 + 2.0 * np.sqrt(2.0) + np.sqrt(3.0)) / 6.0
        assert _of(scene).hessian()[corner, corner] == pytest.approx(STIFFNESS_FACTOR * 3e4 * edge)


def test_points_of_a_skin_are_held_by_the_tet_vertices_that_carry_them(scene) -> None:
    upper = scene.bodies[2]
    points = scene.attachments[0].points
    on_skin = replace(upper, skin=Skin(upper.mesh.vertices[::-1]))
    there = len(upper.mesh.vertices) - 1 - points
    same, _ = tetrahedralize_scene(
        Scene([*scene.bodies[:2], on_skin], attachments=[Attachment(2, there, 0)])
    )
    difference = abs(_of(same).hessian() - _of(scene).hessian()).max()
    assert difference < 1e-9 * abs(_of(scene).hessian()).max()


def test_led_pins_count_where_their_path_begins(make_block) -> None:
    mesh = make_block((1, 1, 1), origin=(0.0, 0.0, 1.0))
    away = mesh.vertices[[0]] + [0.1, 0.0, 0.2]
    led = SoftBody(mesh, pinned=[0], pin_path=away[None])
    scene = Scene([SoftBody(make_block()), led], attachments=[Attachment(1, [0, 1], 0)])
    start = _start(scene)
    start[:, -8] = torch.as_tensor(away[0])
    assert float(_of(scene).energy(start)) < 1e-20


def test_without_attached_bodies_there_is_nothing(scene) -> None:
    assert Attachments.from_scene(replace(scene, attachments=[]), _starts(scene), LIKE) is None


def test_a_point_that_is_not_there_is_refused_by_name(scene) -> None:
    scene.bodies[2].name = "Lid"
    wrong = replace(scene, attachments=[Attachment(2, [0, 999], 0)])
    with pytest.raises(SceneError, match=r"^Lid: an attached point lies outside 0 … 23\.$"):
        _of(wrong)
