# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies feel what flows in a baked fluid as Blender's own particles do."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Euler, Matrix, Vector

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

ADDON = "bl_ext.user_default.supple.addon"
# Of particles, in seconds, whatever the frame rate; the one they are born at, and the last.
FRAME, BORN, LAST = 0.04, 4, 6
SPEED, TOLERANCE = (0.4, -0.3, 0.6), 1e-4
PLACE = Matrix.LocRotScale(Vector((0.3, 0.2, 1)), Euler((0.1, 0.2, 0.5)), Vector((1, 0.8, 1.5)))
# In the domain and, a fifth of them, beside it.
POINTS = np.random.default_rng(1).uniform(-1.07, 1.07, size=(100, 3))
# In the solver's Python: how far the law of the first force is off accelerations, as a share of
# the largest of these.
COMPARED = """
import importlib.util, json, sys
from pathlib import Path
import numpy as np, torch

root, job, frame = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
spec = importlib.util.spec_from_file_location(
    "supple", root / "__init__.py", submodule_search_locations=[str(root)]
)
sys.modules["supple"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from supple.core.job.scene_file import load_scene
from supple.core.potentials.field_laws import FieldLaw

field = load_scene(job)[0].forces[0]
felt = np.load(job.with_name("felt.npz"))
at, speeds = (torch.as_tensor(felt[name].T.copy()) for name in ("points", "speeds"))
law = FieldLaw(field, at)(torch.as_tensor(field.parameters.at(frame)), at)
off = np.abs(law.acceleration(speeds).T.numpy() - felt["gained"]).max()
print(json.dumps([float(off / np.abs(felt["gained"]).max()), str(field.grid.velocities.dtype)]))
"""


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.use_ground = LAST, False
    cube.supple.enabled, cube.supple.resolution = True, 3
    with ui.context():
        for kind, settings in (
            ("GAS", {"strength": 0.7, "flow": 1.0, "falloff_power": 1.5}),
            ("GAS", {"strength": 2.0, "flow": 0.3, "use_smoke_density": True}),
            ("LIQUID", {"strength": 1.3, "flow": 0.6}),
        ):
            domain, made = _domain(kind, ui.work / f"fluid {len(bpy.data.objects)}")
            field = _field(domain, settings)
            (unbaked,) = _messages()
            assert f"needs the fluid in {domain.name} to be baked first" in unbaked, unbaked
            bpy.context.view_layer.objects.active = domain
            bpy.ops.fluid.bake_all()
            assert _messages() == []
            particles = _particles()
            _compare(ui.work, particles, settings)
            for obj in (particles, field, domain, made):
                bpy.data.objects.remove(obj)
        yield from _simulate(ui, cube)


def _compare(work: Path, particles: bpy.types.Object, settings: dict[str, Any]) -> None:
    speeds, gained, points = _felt(particles)
    off = [_off(work, points, speeds, gained)]
    print(settings, off)
    still = (np.abs(gained).max(axis=1) == 0.0).sum()
    assert len(gained) - still >= 20, still
    assert off[0] < TOLERANCE, (settings, off)


def _off(work: Path, points: Any, speeds: Any, gained: Any) -> float:
    found = _captured()
    root = Path(importlib.import_module(ADDON).__file__).parents[1]
    files = importlib.import_module(f"{ADDON.rpartition('.')[0]}.core.job.scene_file")
    files.save_scene(work / "captured.json", found.scene, {})
    np.savez(work / "felt.npz", points=points, speeds=speeds, gained=gained)
    solver = importlib.import_module(f"{ADDON}.worker.solver_environment")
    environment = solver.find()
    # Frames are counted from the first; a particle's step takes what is there at its end.
    arguments = [str(root), str(work / "captured.json"), str(BORN + 1 - 1)]
    done = subprocess.run(
        [str(environment.python), "-s", "-P", "-c", COMPARED, *arguments],
        env=solver.variables(environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    off, precision = json.loads(done.stdout.splitlines()[-1])
    assert precision == "float16", precision
    return float(off)


def _captured() -> Any:
    return importlib.import_module(f"{ADDON}.capture.scene").capture(bpy.context)


def _refusal() -> str:
    """Empty where it is captured."""
    refused = importlib.import_module(f"{ADDON}.capture.captured").CaptureError
    try:
        _captured()
    except refused as error:
        return str(error)
    return ""


def _domain(kind: str, cache: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A small one, and what flows from."""
    bpy.ops.mesh.primitive_cube_add(size=2.0)
    domain = bpy.context.object
    domain.matrix_world = PLACE
    bpy.ops.object.modifier_add(type="FLUID")
    modifier = domain.modifiers[0]
    modifier.fluid_type = "DOMAIN"
    settings = modifier.domain_settings
    settings.domain_type, settings.resolution_max = kind, 16
    settings.cache_type, settings.cache_directory = "ALL", str(cache)
    settings.cache_frame_start, settings.cache_frame_end = 1, LAST
    settings.use_adaptive_domain = settings.use_mesh = False
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.45, location=(0.3, 0.2, 0.7))
    source = bpy.context.object
    bpy.ops.object.modifier_add(type="FLUID")
    source.modifiers[0].fluid_type = "FLOW"
    flow = source.modifiers[0].flow_settings
    flow.flow_type = "LIQUID" if kind == "LIQUID" else "SMOKE"
    flow.flow_behavior = "GEOMETRY" if kind == "LIQUID" else "INFLOW"
    flow.use_initial_velocity, flow.velocity_coord = True, (2.0, 1.0, 3.0)
    return domain, source


def _field(domain: bpy.types.Object, settings: dict[str, Any]) -> bpy.types.Object:
    bpy.ops.object.effector_add(type="FORCE", location=(0.1, 0.2, 0.3))
    obj = bpy.context.object
    obj.field.type, obj.field.source_object = "FLUID_FLOW", domain
    for name, value in settings.items():
        setattr(obj.field, name, value)
    return obj


def _particles() -> bpy.types.Object:
    """Add a mesh with a particle of 1 kg at each of the points, all with the same velocity."""
    mesh = bpy.data.meshes.new("Points")
    mesh.from_pydata([PLACE @ Vector(point) for point in POINTS], [], [])
    obj = bpy.data.objects.new("Points", mesh)
    bpy.context.collection.objects.link(obj)
    obj.modifiers.new("Particles", "PARTICLE_SYSTEM")
    settings = obj.particle_systems[0].settings
    settings.count, settings.emit_from, settings.use_emit_random = len(POINTS), "VERT", False
    settings.frame_start = settings.frame_end = BORN
    settings.lifetime, settings.normal_factor, settings.object_align_factor = 100, 0.0, SPEED
    settings.integrator, settings.mass, settings.particle_size = "EULER", 1.0, 1.0
    settings.effector_weights.gravity = 0.0
    return obj


def _felt(particles: bpy.types.Object) -> tuple[Any, Any, Any]:
    """(N, 3) velocities when they are born, accelerations from there to the next frame, and where
    that was."""
    found: dict[str, list[Any]] = {"velocity": [], "location": []}
    for frame in range(1, BORN + 2):
        bpy.context.scene.frame_set(frame)
        own = particles.evaluated_get(bpy.context.evaluated_depsgraph_get()).particle_systems[0]
        for name, values in found.items():
            taken = np.empty(3 * len(POINTS), dtype=np.float32)
            own.particles.foreach_get(name, taken)
            values.append(taken.reshape(-1, 3).astype(float))
    speeds = found["velocity"]
    return speeds[-2], (speeds[-1] - speeds[-2]) / FRAME, found["location"][-2]


def _simulate(ui: Ui, cube: bpy.types.Object) -> Steps:
    """The whole way, through the button: a body goes where smoke flows to."""
    domain, _ = _domain("GAS", ui.work / "smoke")
    field = _field(domain, {"strength": 20.0, "flow": 1.0})
    bpy.context.view_layer.objects.active = domain
    bpy.ops.fluid.bake_all()
    scene = bpy.context.scene
    scene.use_gravity, cube.matrix_world = False, Matrix.Translation((0.3, 0.2, 0.7))
    cube.scale = (0.2, 0.2, 0.2)
    scene.supple.cache_folder = str(ui.work / "cache")
    with ui.context("UI"):
        bpy.ops.supple.simulate("INVOKE_DEFAULT")
    yield from ui.wait_for_end()
    moved = []
    for frame in (1, LAST):
        scene.frame_set(frame)
        evaluated = cube.evaluated_get(bpy.context.evaluated_depsgraph_get())
        values = np.empty(3 * len(evaluated.data.vertices), dtype=np.float32)
        evaluated.data.vertices.foreach_get("co", values)
        world = np.array(evaluated.matrix_world)
        moved.append((values.reshape(-1, 3) @ world[:3, :3].T).mean(axis=0))
    way = moved[1] - moved[0]
    assert way[2] > 0.1, way
    yield from ui.screenshot("simulated")
    _look_beyond(domain, field)


def _look_beyond(domain: bpy.types.Object, field: bpy.types.Object) -> None:
    """The frames and the files that there are; and it goes where its domain goes."""
    scene, fingerprint = bpy.context.scene, importlib.import_module(f"{ADDON}.capture.fingerprint")
    before = fingerprint.scene_fingerprint(scene)
    field.field.use_smoke_density = True
    assert fingerprint.scene_fingerprint(scene) != before
    field.field.use_smoke_density = False
    assert fingerprint.scene_fingerprint(scene) == before
    for frame, x in ((1, 0.3), (LAST, 1.3)):
        domain.location.x = x
        domain.keyframe_insert("location", frame=frame)
    scene.frame_end = 2 * LAST
    (partly,) = _messages()
    assert f"only acts from frame 1 to {LAST}" in partly, partly
    (flow,) = _captured().scene.forces
    assert flow.weight.samples.tolist() == [1.0] * LAST + [0.0] * LAST, flow.weight.samples
    assert len(flow.grid.velocities) == 2 * LAST and not flow.grid.velocities[LAST:].any()
    went = flow.grid.matrix.samples[[0, LAST - 1], 0, 3]
    assert np.allclose(went, [0.3, 1.3]), went
    scene.frame_start = LAST + 1
    assert f"{domain.name} has no flow at any simulated frame. Bake" in _refusal()
    scene.frame_start, scene.frame_end = 1, LAST
    shutil.rmtree(domain.modifiers[0].domain_settings.cache_directory)
    (gone,) = _messages()
    assert f"needs the fluid in {domain.name} to be baked again: its files are not in" in gone, gone
    assert _captured().scene.forces == []


def _messages() -> list[str]:
    """The messages about fluid flow."""
    found = importlib.import_module(f"{ADDON}.reports.ignored").messages(bpy.context)
    return [line for line in found if "Fluid Flow" in line]
