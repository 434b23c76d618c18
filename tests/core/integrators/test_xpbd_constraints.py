# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Scene, SoftBody, TetMesh
from supple.core.integrators import xpbd
from supple.core.integrators.xpbd import (
    Constraints,
    GreenStrains,
    NeoHookeanConstraints,
    colour_tets,
)
from supple.core.kernels.xpbd_tets import BASIS, TRACES
from supple.core.materials import Material, StableNeoHookean, StVenantKirchhoff
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda

CPU = torch.device("cpu")
KINDS = [(StableNeoHookean, NeoHookeanConstraints), (StVenantKirchhoff, GreenStrains)]
BOTH = pytest.mark.parametrize(("model", "kind"), KINDS, ids=lambda kind: kind.__name__)
# A tet of no symmetry.
CORNERS = np.array([[0.1, 0.0, 0.2], [1.1, 0.1, 0.0], [0.2, 0.8, 0.1], [0.0, 0.3, 1.2]])
YOUNG, DENSITY = 1e4, 1000.0
LONG, SHORT = 1.0, 1e-6


def _one(model: type[Material], poisson: float = 0.3, pinned=None) -> System:
    mesh = TetMesh(CORNERS, [[0, 1, 2, 3]])
    body = SoftBody(mesh, model(YOUNG, poisson), density=DENSITY, pinned=pinned)
    return System(Scene([body]), CPU, torch.float64)


def _constraints(system: System, kind: type[Constraints], step: float) -> Constraints:
    made = kind(system.elasticities[0], system.inverse_mass)
    made.set_step(torch.full_like(system.mass, step * step))
    return made


def _relaxed(system: System, kind: type[Constraints], step: float, x: torch.Tensor) -> torch.Tensor:
    moved = x.clone()
    _constraints(system, kind, step).relax(moved)
    return moved


def _shaken(system: System, inverse_mass_metric: float = 0.2, seed: int = 3) -> torch.Tensor:
    rest = system.rest_positions()
    generator = torch.Generator().manual_seed(seed)
    return rest + inverse_mass_metric * torch.randn(
        rest.shape, generator=generator, dtype=torch.float64
    )


def _f(positions: torch.Tensor) -> torch.Tensor:
    rest = torch.as_tensor(CORNERS.T)
    return (positions[:, 1:] - positions[:, :1]) @ torch.linalg.inv(rest[:, 1:] - rest[:, :1])


def _volume() -> float:
    return float(abs(np.linalg.det(CORNERS[1:] - CORNERS[0]))) / 6.0


def _density(model: type[Material], f: torch.Tensor, poisson: float) -> torch.Tensor:
    """Ψ in J/m³, as the papers write it."""
    material = model(YOUNG, poisson)
    if model is StVenantKirchhoff:
        strain = 0.5 * (f.T @ f - torch.eye(3, dtype=f.dtype))
        return material.mu * (strain * strain).sum() + 0.5 * material.lam * strain.trace() ** 2
    bulk = material.lam + material.mu
    hydrostatic = torch.linalg.det(f) - 1.0 - material.mu / bulk
    return 0.5 * material.mu * (f * f).sum() + 0.5 * bulk * hydrostatic**2


def _gradient(function, x: torch.Tensor, h: float = 1e-6) -> torch.Tensor:
    """The gradient by central differences."""
    out = torch.zeros_like(x)
    for index in range(x.numel()):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.clone()
            moved.view(-1)[index] += sign * h
            ends.append(float(function(moved)))
        out.view(-1)[index] = (ends[0] - ends[1]) / (2.0 * h)
    return out


@pytest.mark.parametrize("poisson", [-0.5, 0.0, 0.3, 0.49])
@pytest.mark.parametrize("model", [StableNeoHookean, StVenantKirchhoff])
def test_the_energy_of_the_constraints_has_the_moduli_of_the_material_at_rest(
    model, poisson: float
) -> None:
    material, rest = model(YOUNG, poisson), torch.eye(3, dtype=torch.float64)
    stress = _gradient(lambda f: _density(model, f, poisson), rest)
    assert float(stress.abs().max()) < 1e-5 * YOUNG
    directions = {
        "pull": torch.diag(torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)),
        "swell": torch.eye(3, dtype=torch.float64),
        "shear": torch.tensor([[0.0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]], dtype=torch.float64),
        "turn": torch.tensor([[0.0, 1.0, 0], [-1.0, 0, 0], [0, 0, 0]], dtype=torch.float64),
    }
    for direction in directions.values():
        h = 1e-4
        at = [_density(model, rest + s * h * direction, poisson) for s in (-1.0, 0.0, 1.0)]
        curvature = float(at[0] - 2.0 * at[1] + at[2]) / h**2
        strain = 0.5 * (direction + direction.T)
        hooke = 2.0 * material.mu * float((strain**2).sum())
        hooke += material.lam * float(strain.trace()) ** 2
        assert curvature == pytest.approx(hooke, abs=1e-4 * YOUNG)


@BOTH
@pytest.mark.parametrize("poisson", [-0.5, 0.0, 0.3, 0.49])
def test_in_a_short_step_a_tet_moves_by_the_forces_of_its_energy(model, kind, poisson) -> None:
    system = _one(model, poisson)
    x = _shaken(system)
    moved = (_relaxed(system, kind, SHORT, x) - x) / SHORT**2
    forces = -_volume() * _gradient(lambda p: _density(model, _f(p), poisson), x)
    expected = system.inverse_mass * forces
    torch.testing.assert_close(moved, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("step", [1e-3, 0.01, LONG])
@pytest.mark.parametrize("pinned", [None, [1]])
def test_a_neo_hookean_tet_goes_to_the_least_of_its_model(step: float, pinned) -> None:
    system = _one(StableNeoHookean, pinned=pinned)
    x, material = _shaken(system), StableNeoHookean(YOUNG, 0.3)
    bulk, f = material.lam + material.mu, _f(x)
    cofactor = torch.linalg.det(f) * torch.linalg.inv(f).T
    shape = np.linalg.inv((CORNERS[1:] - CORNERS[0]).T)
    gradients = torch.as_tensor(np.vstack([-shape.sum(0), shape]))
    inverse_mass_metric = torch.einsum("a,ai,aj->ij", system.inverse_mass, gradients, gradients)
    largest = torch.linalg.eigvalsh(inverse_mass_metric)[-1]

    def model(change: torch.Tensor) -> torch.Tensor:
        by = change @ gradients
        hydrostatic = torch.linalg.det(f) - 1.0 - material.mu / bulk + (cofactor * by).sum()
        elastic = material.mu * (f * by).sum() + 0.5 * bulk * hydrostatic**2
        inertia = (system.free_mass * change.square()).sum()
        return (_volume() * elastic + material.mu * _volume() * largest * inertia) * step**2 + (
            0.5 * inertia
        )

    change = (_relaxed(system, NeoHookeanConstraints, step, x) - x).requires_grad_()
    (slope,) = torch.autograd.grad(model(change), change)
    size = float((system.free_mass * change.detach()).abs().max())
    assert float((slope * system.free).abs().max()) < 1e-10 * size


@pytest.mark.parametrize("step", [0.01, LONG])
@pytest.mark.parametrize("pinned", [None, [1]])
def test_a_st_venant_kirchhoff_tet_solves_one_strain_after_the_other(step: float, pinned) -> None:
    system = _one(StVenantKirchhoff, pinned=pinned)
    x = _shaken(system)
    material, expected = StVenantKirchhoff(YOUNG, 0.3), x.clone()
    for basis, trace in zip(torch.tensor(BASIS, dtype=torch.float64), TRACES, strict=True):

        def strain(at: torch.Tensor, basis: torch.Tensor = basis) -> torch.Tensor:
            green = 0.5 * (_f(at).T @ _f(at) - torch.eye(3, dtype=at.dtype))
            return (green * basis.view(3, 3)).sum()

        modulus = material.lam + 2.0 / 3.0 * material.mu if trace else material.mu
        gradient = _gradient(strain, expected)
        stiffness = (system.inverse_mass * gradient.square()).sum()
        compliance = 1.0 / (modulus * _volume() * step**2)
        multiplier = -strain(expected) / (stiffness + compliance)
        expected += system.inverse_mass * gradient * multiplier
    found = _relaxed(system, GreenStrains, step, x)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)


@BOTH
@pytest.mark.parametrize("step", [0.01, LONG])
def test_a_tet_at_rest_stays_wherever_it_is_turned(model, kind, step: float) -> None:
    system = _one(model)
    turn, _ = torch.linalg.qr(_shaken(system)[:, :3])
    turn *= torch.linalg.det(turn)
    placed = turn @ system.rest_positions() + torch.tensor([[3.0], [-1.0], [2.0]])
    torch.testing.assert_close(_relaxed(system, kind, step, placed), placed, rtol=0, atol=1e-12)


def test_solved_one_after_the_other_as_published_a_tet_at_rest_turns_inside_out() -> None:
    system, material = _one(StableNeoHookean), StableNeoHookean(YOUNG, 0.3)
    bulk, x = material.lam + material.mu, system.rest_positions()
    parts = [
        (lambda at: _f(at).norm(), material.mu),
        (lambda at: torch.linalg.det(_f(at)) - 1.0 - material.mu / bulk, bulk),
    ]
    for constraint, modulus in parts:
        gradient = _gradient(constraint, x)
        stiffness = (system.inverse_mass * gradient.square()).sum()
        multiplier = -constraint(x) / (stiffness + 1.0 / (modulus * _volume() * LONG**2))
        x = x + system.inverse_mass * gradient * multiplier
    assert float(torch.linalg.det(_f(x))) < 0.0


@pytest.mark.parametrize("step", [0.01, LONG])
def test_a_neo_hookean_tet_does_not_turn_itself(step: float) -> None:
    system = _one(StableNeoHookean)
    x = _shaken(system)
    push = system.mass * (_relaxed(system, NeoHookeanConstraints, step, x) - x)
    turned = torch.linalg.cross(x, push, dim=0).sum(1)
    assert float(turned.abs().max()) < 1e-13 * float(push.abs().max())


def test_a_strain_turns_a_st_venant_kirchhoff_tet_by_nothing() -> None:
    f = _f(_shaken(_one(StVenantKirchhoff)))
    for basis in torch.tensor(BASIS, dtype=torch.float64).view(6, 3, 3):
        turning = f @ basis @ f.T
        torch.testing.assert_close(turning, turning.T)


@BOTH
def test_a_pass_leaves_the_sum_of_mass_times_way_at_zero(make_block, model, kind) -> None:
    body = SoftBody(make_block((3, 2, 2)), model(YOUNG, 0.3))
    system = System(Scene([body]), CPU, torch.float64)
    x = _shaken(system, 0.05)
    push = system.mass * (_relaxed(system, kind, 0.01, x) - x)
    assert float(push.sum(1).abs().max()) < 1e-12 * float(push.abs().max())


@BOTH
def test_pinned_vertices_stay_to_the_last_bit(make_block, model, kind) -> None:
    pinned = [0, 4, 7]
    body = SoftBody(make_block(), model(YOUNG, 0.3), pinned=pinned)
    system = System(Scene([body]), CPU, torch.float64)
    x = _shaken(system, 0.05)
    moved = _relaxed(system, kind, LONG, x)
    assert torch.equal(moved[:, pinned], x[:, pinned])
    assert not torch.equal(moved, x)


def _several(make_block, model: type[Material], device: torch.device) -> System:
    bodies = [
        SoftBody(make_block((4, 3, 2)), model(YOUNG, 0.3), pinned=[0, 5, 6]),
        SoftBody(make_block((2, 2, 2)), model(3e5, 0.45), density=300.0),
    ]
    return System(Scene(bodies), device, torch.float64)


@BOTH
@pytest.mark.parametrize("step", [1e-3, 0.05])
def test_the_passes_agree_with_the_compiled_loops(make_block, model, kind, step, request) -> None:
    system = _several(make_block, model, CPU)
    x = _shaken(system, 0.05)
    compiled = _relaxed(system, kind, step, x)
    request.getfixturevalue("without_compiled_loops")
    passes = _relaxed(system, kind, step, x)
    torch.testing.assert_close(passes, compiled, rtol=0, atol=1e-12)


@BOTH
def test_a_pass_on_cuda_never_waits_and_agrees(make_block, model, kind) -> None:
    on_host = _several(make_block, model, CPU)
    x = _shaken(on_host, 0.05)
    expected = _relaxed(on_host, kind, 0.01, x)
    with pretended_cuda() as device:
        own = _constraints(_several(make_block, model, torch.device("cuda")), kind, 0.01)
        moved = x.to("cuda")
        before = device.waits
        own.relax(moved)
        assert device.waits == before
        found = moved.cpu()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@BOTH
def test_the_bits_do_not_depend_on_the_number_of_threads(
    make_block, model, kind, monkeypatch
) -> None:
    body = SoftBody(make_block((6, 6, 6)), model(YOUNG, 0.3))
    system = System(Scene([body]), CPU, torch.float64)
    x = _shaken(system, 0.03)
    found = []
    for tets_per_thread in (1, 10**9):
        monkeypatch.setattr(xpbd, "TETS_PER_THREAD", tets_per_thread)
        found.append(_relaxed(system, kind, 0.01, x))
    assert torch.equal(*found)


def _shares_vertex(corners: np.ndarray) -> np.ndarray:
    """(M, M) whether two tets have a vertex in common."""
    return (corners.T[:, None, :, None] == corners.T[None, :, None, :]).any((2, 3))


def test_tets_of_one_colour_share_no_vertex_and_every_tet_has_a_colour(make_block) -> None:
    mesh = make_block((5, 4, 3))
    corners = mesh.tets.T
    colours = colour_tets(corners, len(mesh.vertices))
    assert colours.min() == 0
    for colour in range(colours.max() + 1):
        own = corners[:, colours == colour]
        assert own.size > 0
        assert len(np.unique(own)) == own.size


def test_a_tet_gets_at_most_one_colour_more_than_it_has_neighbours(make_block) -> None:
    mesh = make_block((3, 3, 3))
    colours = colour_tets(mesh.tets.T, len(mesh.vertices))
    neighbours = _shares_vertex(mesh.tets.T).sum(1) - 1
    assert (colours <= neighbours).all()


def test_the_colours_are_near_the_fewest_that_there_can_be(make_block) -> None:
    mesh = make_block((6, 6, 6))
    colours = colour_tets(mesh.tets.T, len(mesh.vertices))
    # All tets at one vertex differ.
    fewest = np.bincount(mesh.tets.ravel()).max()
    assert fewest <= colours.max() + 1 <= 1.5 * fewest


def test_tets_apart_have_one_colour() -> None:
    corners = np.arange(40).reshape(10, 4).T
    assert (colour_tets(corners, 40) == 0).all()


def test_the_same_tets_get_the_same_colours(make_block) -> None:
    mesh = make_block((4, 4, 4))
    first, second = (colour_tets(mesh.tets.T, len(mesh.vertices)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
