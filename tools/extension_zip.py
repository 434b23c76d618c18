"""Pack the extension's zip: what `blender --command extension build` packs, bit for bit the same
on every machine."""

from __future__ import annotations

import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

MANIFEST = "blender_manifest.toml"
EPOCH = (1980, 1, 1, 0, 0, 0)


def build(source: Path, folder: Path) -> Path:
    """Write `folder/<id>-<version>.zip` from the files of `source`; answer its path."""
    manifest = tomllib.loads((source / MANIFEST).read_text(encoding="utf-8"))
    patterns = manifest["build"]["paths_exclude_pattern"]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{manifest['id']}-{manifest['version']}.zip"
    partial = target.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as archive:
        for path in sorted(files(source, patterns)):
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (source / path).read_bytes(), compresslevel=9)
    partial.replace(target)
    return target


def files(source: Path, patterns: Sequence[str], below: str = "") -> Iterator[str]:
    """Paths under `source`, with forward slashes, that no pattern excludes."""
    for entry in (source / below).iterdir():
        path = below + entry.name
        if entry.is_symlink():
            continue
        if entry.is_dir():
            if not excluded(path, patterns, is_folder=True):
                yield from files(source, patterns, path + "/")
        elif not excluded(path, patterns, is_folder=False):
            yield path


def excluded(path: str, patterns: Sequence[str], *, is_folder: bool) -> bool:
    """The part of .gitignore's rules that the manifest uses.

    `/a/b` is that one path, `a` any file or folder of that name, `a/` only folders.
    """
    for pattern in patterns:
        if pattern.endswith("/") and not is_folder:
            continue
        word = pattern.rstrip("/")
        anchored = word.startswith("/")
        if fnmatchcase(path if anchored else path.rpartition("/")[2], word.lstrip("/")):
            return True
    return False
