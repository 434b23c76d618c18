# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a job where they are seen: on the vertices of the skin of a body."""

from __future__ import annotations

from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..errors import JobError
from ..geometry.tet_mesh import TetMesh
from ..results import RESULTS
from .folder import Job, value_counts

FloatArray = NDArray[np.float64]


class SkinField:
    """One result on the skin of one body.

    Args:
        job: that keeps the result.
        name: of the result.
        body: which of the scene.
    """

    def __init__(self, job: Job, name: str, body: int) -> None:
        self._job, self._name, self._body = job, name, body

    def at(self, frame: int) -> NDArray[np.float32]:
        """Return the (V,) values after a frame. A vertex interpolates the values of its tet
        vertices with the weights of its motion, but never beyond the largest value: nothing is
        extrapolated.

        Raises:
            DamageError: if the file has changed since it was written.
            JobError: when it cannot be read, or was not recorded.
        """
        if self._name not in self._job.settings.results:
            raise JobError(
                f"The frames were simulated without {RESULTS[self._name].label}; record it, then "
                "simulate again."
            )
        values = self._job.read_fields(frame)[self._name][self._where].astype(np.float64)
        if RESULTS[self._name].per == "tet":
            values = at_vertices(self._mesh, values)
        skin = self._job.tet_scene.bodies[self._body].skin
        if skin is None or skin.embedding is None:
            return values.astype(np.float32)
        shares = np.maximum(skin.embedding.weights, 0.0)
        shares /= shares.sum(axis=1, keepdims=True)
        return (shares * values[skin.embedding.indices]).sum(axis=1).astype(np.float32)

    def range(self, last_frame: int, first_frame: int = 0) -> tuple[float, float]:
        """The least and the largest value in some frames; errors as of ``at``."""
        seen = [self.at(frame) for frame in range(first_frame, last_frame + 1)]
        return float(min(values.min() for values in seen)), float(max(v.max() for v in seen))

    @cached_property
    def _mesh(self) -> TetMesh:
        mesh = self._job.tet_scene.bodies[self._body].mesh
        assert isinstance(mesh, TetMesh)
        return mesh

    @cached_property
    def _where(self) -> slice:
        """Return the slice of this body's values among those of all."""
        bodies = islice(self._job.tet_scene.bodies, self._body + 1)
        meshes = [body.mesh for body in bodies if isinstance(body.mesh, TetMesh)]
        counts = value_counts(self._name, meshes)
        return slice(sum(counts[:-1]), sum(counts))


def at_vertices(mesh: TetMesh, values: FloatArray) -> FloatArray:
    """(N,) the mean of (M,) values over the tets around each vertex, by their volume."""
    count, corners = len(mesh.vertices), mesh.tets.ravel()
    volumes = np.repeat(mesh.rest_volumes, 4)
    sums = np.bincount(corners, np.repeat(mesh.rest_volumes * values, 4), count)
    return np.asarray(sums / np.bincount(corners, volumes, count))
