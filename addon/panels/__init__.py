# SPDX-License-Identifier: GPL-3.0-or-later
"""The tab Supple in the 3D view's sidebar: one panel a file."""

from .attach import SUPPLE_PT_attach
from .body import SUPPLE_PT_body
from .collider import SUPPLE_PT_collider
from .contact import SUPPLE_PT_contact
from .fields import SUPPLE_PT_fields
from .find import SUPPLE_PT_find
from .fluid import SUPPLE_PT_fluid
from .force_fields import SUPPLE_PT_force_fields
from .forces import SUPPLE_PT_forces
from .ground import SUPPLE_PT_ground
from .jiggle import SUPPLE_PT_jiggle
from .main import SUPPLE_PT_main
from .material import SUPPLE_PT_material
from .mesh import SUPPLE_PT_mesh
from .paint import SUPPLE_PT_paint
from .pins import SUPPLE_PT_pins
from .plasticity import SUPPLE_PT_plasticity
from .result import SUPPLE_PT_result
from .scene import SUPPLE_PT_scene
from .simulation import SUPPLE_PT_simulation
from .start import SUPPLE_PT_start
from .surface import SUPPLE_PT_surface
from .volume_and_damping import SUPPLE_PT_volume_and_damping

CLASSES = [
    SUPPLE_PT_main,
    SUPPLE_PT_body,
    SUPPLE_PT_material,
    SUPPLE_PT_volume_and_damping,
    SUPPLE_PT_plasticity,
    SUPPLE_PT_paint,
    SUPPLE_PT_pins,
    SUPPLE_PT_jiggle,
    SUPPLE_PT_attach,
    SUPPLE_PT_start,
    SUPPLE_PT_find,
    SUPPLE_PT_mesh,
    SUPPLE_PT_surface,
    SUPPLE_PT_forces,
    SUPPLE_PT_result,
    SUPPLE_PT_collider,
    SUPPLE_PT_scene,
    SUPPLE_PT_ground,
    SUPPLE_PT_fluid,
    SUPPLE_PT_contact,
    SUPPLE_PT_force_fields,
    SUPPLE_PT_simulation,
    SUPPLE_PT_fields,
]
