# SPDX-License-Identifier: GPL-3.0-or-later
"""Results that a scene does not have, so that there is nothing to record."""

from __future__ import annotations

import bpy

from ..capture.objects import shown_colliders, soft_bodies


def why(context: bpy.types.Context, name: str) -> str:
    """Why a result cannot be recorded of a scene, or would be 0 everywhere, and the cure; empty
    where it can be."""
    if name == "contact_pressure":
        return _no_contact_pressure(context)
    if name == "plastic_strain":
        return _no_plastic_strain(context)
    return ""


def _no_contact_pressure(context: bpy.types.Context) -> str:
    props = context.scene.supple
    passes_through = props.contact == "never"
    if props.use_ground and props.ground_response == "projection":
        return "A bouncy ground has no pressure. Set Response to Smooth under Ground."
    if passes_through and shown_colliders(context):
        cure = props.bl_rna.properties["contact"].enum_items["automatic"].name
        return f"Without contact, colliders have no pressure. Set Contact to {cure}."
    if passes_through and not props.use_ground:
        return "There is nothing to touch, without ground and contact."
    return ""


def _no_plastic_strain(context: bpy.types.Context) -> str:
    bodies = soft_bodies(context)
    if not bodies or any(body.supple.use_plasticity for body in bodies):
        return ""
    return "No soft body has Plasticity."
