# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft-body engines on the same scene. Each file drives one as its own documentation does.

All get the same tets, masses, moduli, gravity and ground; what they make of them differs:

| engine | elasticity | time | ground |
|---|---|---|---|
| Supple | stable Neo-Hookean | as named | barrier, a thousandth of the body thick |
| Supple, bouncy ground | the same | symplectic Euler | vertices put back on the plane, inelastic |
| torch-diffsim | the same | symplectic Euler | vertices put back on the plane, inelastic |
| Newton, semi-implicit | the same | symplectic Euler | penalty springs |
| Newton, VBD | the same without the logarithm | implicit Euler, ten sweeps | penalty springs |
| Bullet | the same | symplectic Euler | impulses, inelastic |
| MuJoCo | Saint Venant-Kirchhoff | linearly implicit Euler | soft constraints |
"""
