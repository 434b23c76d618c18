# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and colours of the engines in tables and pictures."""

# Label, colour and marker; ours in blues and filled, peers in the other colours that the
# colour-blind tell apart (Okabe and Ito, "Color Universal Design", 2008).
STYLES = {
    "supple-symplectic-euler": ("Supple, symplectic Euler", "#56B4E9", "o"),
    "supple-projecting": ("Supple, symplectic Euler, bouncy ground", "#7FD4D4", "h"),
    "supple-implicit-euler": ("Supple, implicit Euler", "#0072B2", "s"),
    "supple-bdf2": ("Supple, BDF2", "#003A66", "D"),
    "supple-implicit-euler-loose": ("Supple, implicit Euler, one iteration", "#9AC8E8", "p"),
    "torch-diffsim": ("torch-diffsim", "#E69F00", "^"),
    "newton-semi-implicit": ("Newton, semi-implicit", "#CC79A7", "v"),
    "newton-vbd": ("Newton, VBD", "#D55E00", "P"),
    "bullet": ("Bullet deformable", "#009E73", "X"),
    "mujoco": ("MuJoCo flex", "#777777", "*"),
}
