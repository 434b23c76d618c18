# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene as JSON beside an archive of arrays, and back. Nothing is pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DamageError, JobError, SceneError
from ..geometry.embedding import Embedding
from ..geometry.tet_mesh import TetMesh
from ..materials import MODELS
from ..scene.channel import Channel
from ..scene.contact_settings import (
    Attachment,
    Collider,
    Contact,
    ContactSurface,
    Ground,
    PairFriction,
    Sphere,
)
from ..scene.forces import Absorber, Falloff, Fluid, ForceField, VelocityGrid, Wind
from ..scene.goals import Goals
from ..scene.paint import Paint, SurfacePaint
from ..scene.rest_shape import Plasticity, RestShape, TetControl, TetRestShape
from ..scene.scene import Scene
from ..scene.schema import IF_THERE, check_members, conforms
from ..scene.skin import Skin, SurfaceMesh
from ..scene.soft_body import SoftBody
from ..scene.start import PosedStart, RunStart
from ..scene.stitches import Release, Stitches
from .files import read_arrays, read_json, write_arrays, write_json

Arrays = dict[str, NDArray[Any]]

FORMAT = 3

# Exceptions when a scene is made of other content; a SceneError is a ValueError.
_NO_SCENE = (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)

_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Absorber,
        Attachment,
        Channel,
        Collider,
        Contact,
        ContactSurface,
        Embedding,
        Falloff,
        ForceField,
        Fluid,
        Goals,
        Ground,
        Paint,
        PairFriction,
        Plasticity,
        RestShape,
        Release,
        PosedStart,
        RunStart,
        Scene,
        Skin,
        SoftBody,
        Sphere,
        Stitches,
        SurfaceMesh,
        SurfacePaint,
        TetControl,
        TetMesh,
        TetRestShape,
        VelocityGrid,
        Wind,
        *MODELS.values(),
    )
}

_JSON = (NoneType, bool, int, float, str)
# Members by the names that they had when older files were written.
_FORMER_NAMES = {"guard": "compression_resistance"}


def save_scene(json_path: Path, scene: Scene, more: Mapping[str, object]) -> None:
    """Writes ``scene``, and ``more`` of it, to a JSON file, its arrays to the .npz beside that.

    Raises:
        SceneError: if the scene has parts that could not be read again, such as a script's own
            forces and materials.
    """
    _refuse_unreadable(scene)
    arrays: Arrays = {}
    encoded = encode(scene, "scene", arrays)
    # The JSON comes last: a folder that has it has all of it.
    written = write_arrays(json_path.with_suffix(".npz"), arrays)
    write_json(json_path, {"format": FORMAT, **more, "arrays": written, "scene": encoded})


def load_scene(json_path: Path) -> tuple[Scene, dict[str, Any]]:
    """Read the files of ``save_scene``; return the scene and the whole content of the JSON file.

    Raises:
        DamageError: if a file has changed since it was written, or does not describe a valid
            scene.
        JobError: when it cannot be read, or another version of Supple wrote it otherwise.
    """
    content = read_json(json_path)
    if content.get("format") != FORMAT:
        raise JobError(
            f"{json_path} has format {content.get('format')}, this version of Supple reads "
            f"{FORMAT}; simulate again."
        )
    arrays = read_arrays(json_path.with_suffix(".npz"), content.get("arrays"))
    try:
        scene = decode(content["scene"], arrays)
    except _NO_SCENE as error:
        raise DamageError(json_path, f"it does not describe a scene: {_reason(error)}") from error
    if not isinstance(scene, Scene):
        raise DamageError(json_path, "it does not describe a scene")
    return scene, content


def encode(value: Any, key: str, arrays: Arrays) -> Any:
    """``value`` as JSON, its arrays moved to ``arrays`` under keys that begin with ``key``."""
    if isinstance(value, _JSON):
        return value
    if isinstance(value, Channel) and (value.is_constant or value.per_frame == 1):
        # Its owner recognizes a constant by its shape.
        value = value.at(0) if value.is_constant else value.samples
    if isinstance(value, np.ndarray):
        arrays[key] = value
        return {"array": key}
    if isinstance(value, (list, tuple)):
        return [encode(item, f"{key}/{index}", arrays) for index, item in enumerate(value)]
    members = _members(value)
    if members is None:
        return _plain(value)
    inside = {name: encode(item, f"{key}/{name}", arrays) for name, item in members.items()}
    return {"type": type(value).__name__, **inside}


def decode(value: Any, arrays: Arrays) -> Any:
    """The inverse of ``encode``; every object is checked as it is made."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    members = {name: decode(item, arrays) for name, item in value.items() if name != "type"}
    for former, name in _FORMER_NAMES.items():
        if former in members:
            members[name] = members.pop(former)
    kind = _TYPES[value["type"]]
    check_members(kind, members)
    return kind(**members)


def _refuse_unreadable(value: Any) -> None:
    """Refuse a value that could not be read again.

    Raises:
        SceneError: when ``decode`` could not make anything of it.
    """
    if isinstance(value, (list, tuple)):
        for item in value:
            _refuse_unreadable(item)
        return
    kind, members = type(value), _members(value)
    if members is None and isinstance(value, (np.ndarray, np.generic, *_JSON)):
        return
    if kind not in _TYPES.values():
        raise SceneError(
            f"No file can hold the class {kind.__name__}; simulate the scene in the script that "
            "makes it."
        )
    members = members or {}
    try:
        check_members(kind, {name: _plain(item) for name, item in members.items()})
    except ValueError as error:
        raise SceneError(
            f"No file can hold the scene: {error}; give numbers, or arrays of numpy's."
        ) from error
    for item in members.values():
        _refuse_unreadable(item)


def _members(value: Any) -> dict[str, Any] | None:
    """Return the stored members of an object; Return None for values without members."""
    if isinstance(value, TetMesh):
        members = {"vertices": value.vertices, "tets": value.tets, "fill": value.fill}
        return members if value.gas is None else {**members, "gas": value.gas}
    if not is_dataclass(value):
        return None
    kind: Any = type(value)
    members = {}
    for name, may_be_left_out, default in _stored(kind):
        content = getattr(value, name)
        if not (may_be_left_out and _is_default(content, default)):
            members[name] = content
    return members


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@cache
def _stored(kind: Any) -> list[tuple[str, bool, Any]]:
    """The stored members of a class: name, whether it is left out where it is its default, and
    that. Newer members are, so that an older scene keeps its digest."""
    return [(f.name, f.metadata.get(IF_THERE, False), _default(f)) for f in fields(kind) if f.init]


def _default(member: Field[Any]) -> Any:
    factory = member.default_factory
    return member.default if factory is MISSING else factory()


def _is_default(content: Any, default: Any) -> bool:
    is_comparable = isinstance(content, (NoneType, bool, float, list, tuple))
    return is_comparable and not bool(content != default)


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def check_embeddings(path: Path, body: SoftBody) -> None:
    """Check that surfaces follow existing vertices.

    Args:
        path: of the file that the body was read from.

    Raises:
        DamageError: when a surface follows vertices that there are not.
    """
    if not isinstance(body.mesh, TetMesh):
        raise DamageError(path, f"{body.name} has no tetrahedra")
    count = len(body.mesh.vertices)
    skins = [] if body.skin is None else [body.skin, *body.skin.refined]
    for surface in (*skins, body.contact_surface, body.seen_surface):
        if surface is None or surface.embedding is None:
            continue
        if not _fits(surface.embedding, len(surface.points), count, 4):
            raise DamageError(path, f"{body.name} does not fit its surface")
    if not all(_fits(skin.phong, len(skin.points), count) for skin in skins):
        raise DamageError(path, f"{body.name} does not fit its surface")


def _fits(
    embedding: Embedding | None, points: int, vertices: int, width: int | None = None
) -> bool:
    """Whether an embedding is None, or has this number of points in this number of tet vertices."""
    if embedding is None:
        return True
    indices, shape = embedding.indices, embedding.weights.shape
    if indices.shape != shape or len(shape) != 2 or len(indices) != points:
        return False
    return width in (None, shape[1]) and not ((indices < 0) | (indices >= vertices)).any()


# ``settings`` are those that frames depend on; older versions do not write them.
_TET_MEMBERS: dict[str, Any] = {
    "run": str,
    "version": str,
    "reports": list[dict[str, Any]],
    "settings": dict[str, Any] | None,
}


def load_tet_scene(path: Path) -> tuple[Scene, dict[str, Any]]:
    """Return the scene, and the whole content of the JSON file.

    Raises:
        DamageError: if a file has changed since it was written.
        JobError: when it cannot be read.
    """
    tet_scene, content = load_scene(path)
    for name, hint in _TET_MEMBERS.items():
        if not conforms(content.get(name), hint):
            raise DamageError(path, f"{name} cannot be {content.get(name)!r}")
    for report in content["reports"]:
        if not all(conforms(report.get(name), str) for name in ("name", "summary")):
            raise DamageError(path, "a report on tetrahedra is empty")
    for body in tet_scene.bodies:
        check_embeddings(path, body)
    return tet_scene, content
