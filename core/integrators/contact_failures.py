# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures of steps, and scenes without contact in explicit steps."""

from __future__ import annotations

from ..errors import InstabilityError
from ..system import System


class DivergedStepError(InstabilityError):
    """Steps gain energy although they are as short as allowed."""


def unsupported_contact_reason(system: System) -> str:
    """Return the reason why explicit steps do not support the contact of a scene, as the end of a
    sentence; empty if they do."""
    contact, cure = system.scene.contact, "choose Automatic or Implicit Euler"
    if system.scene.attachments:
        return f"cannot attach bodies; {cure}, or do without attachments."
    if system.obstacles.need_explicit_steps:
        return "cannot let surfaces meet beside spheres or a bouncy ground; do without those."
    if contact is not None and contact.formulation == "original" and contact.stiffness is None:
        return (
            f"cannot adapt the stiffness of contact, as its method Original does; {cure}, or the "
            "method Convergent."
        )
    if system.device.type != "cpu":
        return f"lets surfaces meet on CPUs alone; {cure}, or compute on the CPU."
    return ""
