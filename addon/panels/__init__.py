# SPDX-License-Identifier: GPL-3.0-or-later
"""The tab Supple in the 3D view's sidebar."""

from . import body, main, material, scene

#: In the order of the tab.
CLASSES = [
    main.SUPPLE_PT_main,
    body.SUPPLE_PT_body,
    material.SUPPLE_PT_material,
    material.SUPPLE_PT_volume_and_damping,
    material.SUPPLE_PT_plasticity,
    material.SUPPLE_PT_paint,
    body.SUPPLE_PT_pins,
    body.SUPPLE_PT_jiggle,
    body.SUPPLE_PT_attach,
    body.SUPPLE_PT_start,
    body.SUPPLE_PT_find,
    body.SUPPLE_PT_mesh,
    body.SUPPLE_PT_surface,
    body.SUPPLE_PT_forces,
    body.SUPPLE_PT_result,
    scene.SUPPLE_PT_collider,
    scene.SUPPLE_PT_scene,
    scene.SUPPLE_PT_ground,
    scene.SUPPLE_PT_fluid,
    scene.SUPPLE_PT_contact,
    scene.SUPPLE_PT_force_fields,
    scene.SUPPLE_PT_simulation,
    scene.SUPPLE_PT_fields,
    scene.SUPPLE_PT_farm,
]
