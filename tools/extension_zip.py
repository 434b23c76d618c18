"""Pack the extension's zip: what `blender --command extension build` packs, bit for bit the same
on every machine, and beside it compiled loops, where some were made."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

MANIFEST = "blender_manifest.toml"
EPOCH = (1980, 1, 1, 0, 0, 0)
# Where core/shipped_loops.py looks for them.
SHIPPED = "core/shipped/"


def build(source: Path, folder: Path, loops: Path | None = None) -> Path:
    """Write `folder/<id>-<version>.zip` from the files of `source`, and from the compiled ones of
    `loops`; answer its path."""
    import tomllib  # Python 3.11 has it, and older ones run this file's other functions

    manifest = tomllib.loads((source / MANIFEST).read_text(encoding="utf-8"))
    patterns = manifest["build"]["paths_exclude_pattern"]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{manifest['id']}-{manifest['version']}.zip"
    partial = target.with_suffix(".partial")
    packed = {path: source / path for path in files(source, patterns)}
    if loops is not None:
        packed |= {SHIPPED + path: loops / path for path in files(loops, patterns)}
    with zipfile.ZipFile(partial, "w") as archive:
        for path, file in sorted(packed.items()):
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes(), compresslevel=9)
    partial.replace(target)
    return target


def fingerprint(source: Path) -> str:
    """The fingerprint of the sources that loops are compiled from, independent of their folder."""
    core = sorted((source / "core").rglob("*.py"), key=Path.as_posix)
    content = hashlib.sha256()
    for path in core:
        content.update(f"{path.relative_to(source).as_posix()}\0".encode() + path.read_bytes())
    return content.hexdigest()[:16]


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
