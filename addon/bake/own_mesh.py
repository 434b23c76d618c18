# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh that no other object uses, so that shape keys deform one object alone."""

from __future__ import annotations

import bpy


def give_own_mesh(obj: bpy.types.Object) -> bpy.types.Mesh | None:
    """Copies the mesh of ``obj`` where it is shared or linked; returns that one, else None."""
    shared = obj.data
    if not (_is_linked(shared) or sharing_objects(obj)):
        return None
    obj.data = shared.copy()
    obj.data.name = obj.name
    _copy_action(obj.data.shape_keys)
    return shared


def take_back(obj: bpy.types.Object, shared: bpy.types.Mesh | None) -> None:
    """Undoes ``give_own_mesh``, which returned ``shared``."""
    if shared is None:
        return
    copied, keys = obj.data, obj.data.shape_keys
    action = keys.animation_data.action if keys and keys.animation_data else None
    obj.data = shared
    bpy.data.meshes.remove(copied)
    if action is not None and action.users == 0:
        bpy.data.actions.remove(action)


def sharing_objects(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The other objects that have the mesh of ``obj``, but for the one it overrides."""
    if obj.data.users < 2:
        return []
    return [
        other
        for other in bpy.data.objects
        if other.data == obj.data and other != obj and other.is_editable
    ]


def _is_linked(mesh: bpy.types.Mesh) -> bool:
    return not mesh.is_editable or mesh.override_library is not None


def _copy_action(keys: bpy.types.Key | None) -> None:
    """The copied keys would share the curves, into which a bake writes."""
    data = None if keys is None else keys.animation_data
    if data is None or data.action is None:
        return
    slot = data.action_slot
    data.action = data.action.copy()
    if slot is not None:
        data.action_slot = data.action.slots.get(slot.identifier)
