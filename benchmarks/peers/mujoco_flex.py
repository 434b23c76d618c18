# SPDX-License-Identifier: GPL-3.0-or-later
"""MuJoCo's 3D flex with the integrator and solver its documentation advises for solids.

Its contacts are made as crisp as the step allows, which it sees to itself.
"""

from __future__ import annotations

import mujoco
import numpy as np

from ..drop import FRAME_RATE, GRAVITY, Drop, Positions
from .peer import PeerInstabilityError

MODEL = """
<mujoco>
  <option integrator="discrete" solver="CG" tolerance="1e-6" gravity="0 0 -{gravity}">
    <flag autoreset="disable"/>
  </option>
  <worldbody>
    <geom type="plane" size="0 0 1" condim="1" solref="0.001 1" solimp="0.95 0.99 0.001"/>
    <flexcomp name="body" type="direct" dim="3" radius="0" point="{points}" element="{tets}">
      <contact selfcollide="none" condim="1" solref="0.001 1" solimp="0.95 0.99 0.001"/>
      <elasticity young="{young}" poisson="{poisson}"/>
    </flexcomp>
  </worldbody>
</mujoco>
"""


class MujocoFlex:
    def __init__(self, drop: Drop) -> None:
        self.work: dict[str, int] = {}
        # Otherwise it keeps a log file where it runs.
        mujoco.set_mju_user_warning(lambda _: None)
        self._model = mujoco.MjModel.from_xml_string(
            MODEL.format(
                gravity=GRAVITY,
                points=words(drop.mesh.vertices),
                tets=words(drop.mesh.tets),
                young=drop.young,
                poisson=drop.poisson,
            )
        )
        bodies = self._model.flex_vertbodyid
        scale = drop.masses / self._model.body_mass[bodies]
        self._model.body_mass[bodies] *= scale
        self._model.body_inertia[bodies] *= scale[:, None]
        self._data = mujoco.MjData(self._model)
        mujoco.mj_setConst(self._model, self._data)

    def start(self, steps: int) -> None:
        self._steps = steps
        self._model.opt.timestep = 1.0 / (FRAME_RATE * steps)
        mujoco.mj_resetData(self._model, self._data)
        self.work = {"solver_iterations": 0}

    def frame(self) -> Positions:
        for _ in range(self._steps):
            mujoco.mj_step(self._model, self._data)
            self.work["solver_iterations"] += int(self._data.solver_niter.sum())
        if any(warning.number for warning in self._data.warning):
            raise PeerInstabilityError("MuJoCo warned of a bad state")
        return self._data.flexvert_xpos.copy()


def words(array: np.ndarray) -> str:
    return " ".join(f"{value:.17g}" for value in array.ravel())
