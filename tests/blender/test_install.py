"""The built zip is what Blender itself would build, installs, and comes up enabled."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from supple.tests.blender.harness import ADDON, InstalledBlender, beside, fresh_folder
from supple.tools import extension_zip
from supple.tools.real_blender import REPOSITORY


def test_zip_holds_what_blender_would_pack(installed: InstalledBlender, archive: Path) -> None:
    folder = fresh_folder(beside("built"))
    command = ["--command", "extension", "build", "--source-dir", str(REPOSITORY)]
    done = installed.run(*command, "--output-dir", str(folder))
    assert done.returncode == 0, done.stdout
    (theirs,) = folder.glob("*.zip")
    assert _sources(archive) == _sources(theirs)


def _sources(archive: Path) -> list[str]:
    """The packed files but the compiled loops, which are no part of a checkout."""
    with zipfile.ZipFile(archive) as packed:
        return sorted(n for n in packed.namelist() if not n.startswith(extension_zip.SHIPPED))


def test_enabled_in_the_background_where_blender_has_nothing_of_the_solver(
    installed: InstalledBlender,
) -> None:
    installed.python(f"import bpy; assert {ADDON!r} in bpy.context.preferences.addons")
    for package in ("torch", "scipy", "numba"):
        with pytest.raises(AssertionError, match=f"import of {package} halted"):
            installed.python(f"import {package}")


def test_switches_off_and_on_again(installed: InstalledBlender) -> None:
    installed.python(
        "import addon_utils\n"
        f"addon_utils.disable({ADDON!r})\n"
        f"assert addon_utils.enable({ADDON!r}) is not None\n"
    )


def test_a_file_of_a_language_translates_labels_and_messages(installed: InstalledBlender) -> None:
    texts = {
        "Rigid Core": "Fester Kern",
        "Add Collider": "Kollider machen",
        "The scene has no object {0}.": "Die Szene hat kein Objekt {0}.",
    }
    installed.python(
        "import bpy, json, sys, tempfile\n"
        "from pathlib import Path\n"
        f"translations = sys.modules[{ADDON!r}].addon.translations\n"
        "translations.unregister()\n"
        "translations.FOLDER = Path(tempfile.mkdtemp())\n"
        f"(translations.FOLDER / 'de_DE.json').write_text(json.dumps({texts!r}))\n"
        "translations.register()\n"
        "bpy.context.preferences.view.language = 'de_DE'\n"
        "label = bpy.app.translations.pgettext_iface\n"
        "assert label('Rigid Core') == 'Fester Kern'\n"
        "assert label('Add Collider', 'Operator') == 'Kollider machen'\n"
        "try:\n"
        "    bpy.ops.supple.subdivide(object_name='Lost')\n"
        "except RuntimeError as error:\n"
        "    assert 'Die Szene hat kein Objekt Lost.' in str(error), error\n"
        "else:\n"
        "    raise AssertionError('no error')\n"
    )
