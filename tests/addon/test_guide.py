# SPDX-License-Identifier: GPL-3.0-or-later
"""The guide that comes with the extension: its pages as HTML, and Help, which opens them."""

from __future__ import annotations

import re
import tomllib
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import bpy
import pytest

from supple.addon import guide
from supple.addon.fits.table import TOOLS
from supple.addon.panels import CONTENTS
from supple.addon.settings.object import OBJECT
from supple.addon.settings.scene import SCENE
from supple.tools import extension_zip

ROOT = Path(guide.DOCS).parent


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = guide.write(tmp_path_factory.mktemp("guide"))
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}


@pytest.mark.parametrize("panel", CONTENTS, ids=lambda panel: panel.__name__)
def test_the_guide_has_the_section_of_every_panel(panel, pages):
    name, _, section = panel.guide.partition("#")
    assert f'id="{section}"' in pages[name]


def test_links_lead_to_pages_sections_and_pictures_that_are_there(pages):
    for name, text in pages.items():
        for target in re.findall(r'href="([^"]+)"', text):
            if not target.startswith("http"):
                file, _, section = target.partition("#")
                page = pages[file.removesuffix(".html") if file else name]
                assert not section or f'id="{section}"' in page, (name, target)
        for picture in re.findall(r'src="([^"]+)"', text):
            assert Path(unquote(urlsplit(picture).path)).exists(), picture


def test_the_zip_has_the_pages_and_their_pictures_and_nothing_else_of_docs(pages):
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    patterns = manifest["build"]["paths_exclude_pattern"]
    packed = {each for each in extension_zip.files(ROOT, patterns) if each.startswith("docs/")}
    pictures = {name for text in pages.values() for name in re.findall(r"pictures/[^\"]+", text)}
    files = {f"docs/{name}.md" for name in guide.PAGES} | {f"docs/{name}" for name in pictures}
    assert packed == files


def test_marks_tables_lists_and_code_become_html():
    text = (
        "# A & B\n\nPress **Go** *now*, see [C](reference.md#c) and [D](physics.md).\n\n"
        "| a | b |\n|---|---|\n| `x*y*` | 2 |\n\n"
        "3. one\n   more\n4. two\n\n- dot\n\n```\na < b\n```\n"
    )
    html = guide.page("glossary", text)
    assert '<h1 id="a--b">A &amp; B</h1>' in html
    assert '<p>Press <b>Go</b> <i>now</i>, see <a href="reference.html#c">C</a> and D.</p>' in html
    assert "<tr><th>a</th><th>b</th></tr>\n<tr><td><code>x*y*</code></td><td>2</td></tr>" in html
    assert '<ol start="3">\n<li>one more</li>\n<li>two</li>\n</ol>' in html
    assert "<ul>\n<li>dot</li>\n</ul>" in html and "<pre>a &lt; b</pre>" in html


def test_help_opens_the_page_at_the_section(monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert bpy.ops.supple.help(page="reference#contact") == {"FINISHED"}
    address = urlsplit(opened[0])
    assert address.fragment == "contact"
    assert 'id="contact"' in Path(unquote(address.path)).read_text(encoding="utf-8")


DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("user_guide.md", "reference.md")
#: Bold words that are a button with a text of its own, keys, or buttons of Blender.
OTHERS = {
    "Dismiss",
    "Alt D",
    "Ctrl P",
    "Ctrl",
    "Shift",
    "Enter",
    "Tab",
    "Esc",
    "Assign",
    "Save As",
    "Save Copy",
    "F3",
    "+",
    "−",
}


@pytest.fixture(scope="module")
def labels() -> set[str]:
    settings = {row.label for row in (*OBJECT, *SCENE)}
    tools = {tool.label for tool in TOOLS.values()}
    buttons = [name for name in dir(bpy.types) if name.startswith("SUPPLE_OT_")]
    return settings | tools | {getattr(bpy.types, name).bl_label for name in buttons}


@pytest.mark.parametrize("page", PAGES)
def test_bold_words_are_buttons(page: str, labels: set[str]):
    text = (DOCS / page).read_text(encoding="utf-8")
    bold = set(re.findall(r"\*\*([^*\n]+)\*\*", text))
    keys = {word for word in bold if len(word) == 1 or re.fullmatch(r"-?[\d.]+", word)}
    sentences = {word for word in bold if word.endswith(".") or "friction" in word}
    assert bold - keys - sentences - OTHERS - labels == set()


@pytest.mark.parametrize("page", PAGES)
def test_tables_of_settings_name_settings(page: str, labels: set[str]):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert set(named_settings(text)) - labels - {"Group"} == set()


def named_settings(text: str) -> list[str]:
    """Return the first cells of the tables whose first column is headed *setting*."""
    names: list[str] = []
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        head, _, *rows = table.splitlines()
        if head.startswith("| setting |"):
            names += [row.split("|")[1].strip() for row in rows]
    return names


def test_a_table_of_settings_is_read():
    table = (
        "| setting | effect |\n|---|---|\n| Drag | slows |\n\n| word | x |\n|---|---|\n| a | b |\n"
    )
    assert named_settings(table) == ["Drag"]
