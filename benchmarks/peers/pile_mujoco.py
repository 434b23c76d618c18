# SPDX-License-Identifier: GPL-3.0-or-later
"""The pile in MuJoCo: bodies are 3D flexes, the bowl a rigid 2D one, all of which touch."""

from __future__ import annotations

import mujoco

from ..pile import DENSITY, FRAME_RATE, FRICTION, GRAVITY, POISSON, YOUNG, Pile, Positions
from .mujoco_flex import words
from .peer import PeerInstabilityError

RADIUS = 1e-3
CONTACT = f'condim="3" friction="{FRICTION} 0.005 0.0001" solref="0.001 1" solimp="0.95 0.99 0.001"'
MODEL = """
<mujoco>
  <size memory="2G"/>
  <option integrator="discrete" solver="CG" tolerance="1e-6" gravity="0 0 -{gravity}">
    <flag autoreset="disable"/>
  </option>
  <worldbody>
    <flexcomp name="bowl" type="direct" dim="2" rigid="true" radius="{radius}" point="{points}"
        element="{triangles}">
      <contact selfcollide="none" {contact}/>
    </flexcomp>
    {bodies}
  </worldbody>
</mujoco>
"""
BODY = """
    <flexcomp name="{name}" type="direct" dim="3" radius="{radius}" point="{points}"
        element="{tets}">
      <contact selfcollide="auto" {contact}/>
      <elasticity young="{young}" poisson="{poisson}"/>
    </flexcomp>
"""


class MujocoPile:
    def __init__(self, pile: Pile, steps: int) -> None:
        self._steps = steps
        mujoco.set_mju_user_warning(lambda _: None)
        self._shape = pile.starts.shape
        bodies = [
            BODY.format(
                name=f"body {index}",
                radius=RADIUS,
                points=words(mesh.vertices),
                tets=words(mesh.tets),
                contact=CONTACT,
                young=YOUNG,
                poisson=POISSON,
            )
            for index, mesh in enumerate(pile.meshes)
        ]
        self._model = mujoco.MjModel.from_xml_string(
            MODEL.format(
                gravity=GRAVITY,
                radius=RADIUS,
                points=words(pile.bowl.at(0)),
                triangles=words(pile.bowl.triangles),
                contact=CONTACT,
                bodies="".join(bodies),
            )
        )
        self._model.opt.timestep = 1.0 / (FRAME_RATE * steps)
        first = self._model.flex_vertadr[1]
        self._vertices = slice(first, first + self._shape[0] * self._shape[1])
        vertex_bodies = self._model.flex_vertbodyid[self._vertices]
        for mesh, vertices in zip(pile.meshes, vertex_bodies.reshape(self._shape[:2]), strict=True):
            scale = mesh.lumped_mass(DENSITY) / self._model.body_mass[vertices]
            self._model.body_mass[vertices] *= scale
            self._model.body_inertia[vertices] *= scale[:, None]
        self._data = mujoco.MjData(self._model)
        mujoco.mj_setConst(self._model, self._data)

    def frame(self) -> Positions:
        for _ in range(self._steps):
            mujoco.mj_step(self._model, self._data)
        if any(warning.number for warning in self._data.warning):
            raise PeerInstabilityError("MuJoCo warned of a bad state")
        return self._data.flexvert_xpos[self._vertices].reshape(self._shape).copy()
