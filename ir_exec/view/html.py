"""One HTML file from the data of a page: it holds its front end, and asks the network for nothing."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from ir_exec.view.data import PageView

__all__ = ["MODULES", "html_of"]

_HERE = Path(__file__).parent

MODULES = ("dom", "network", "layout", "colours", "scene", "details", "search", "address", "layers", "times", "main")
"""The modules of the front end in `page/`, those that others import first."""

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


@cache
def _parts() -> dict[str, str]:
    """What all pages share. A page is a file alone, so its modules are joined into one; no two share a name."""
    library = _read("vendor/dagre.js")
    modules = "\n".join(_EXPORT.sub("", _IMPORT.sub("", _read(f"page/{name}.js"))) for name in MODULES)
    script = f'"use strict";\n{modules}'
    style = _read("page/style.css")
    hashes = {"script_hashes": f"{_hash(library)} {_hash(script)}", "style_hash": _hash(style)}
    return {"template": _read("page/page.html"), "library": library, "script": script, "style": style, **hashes}


def html_of(page: PageView) -> str:
    """The whole file. The policy in it lets nothing run but its own scripts, and loads nothing."""
    return _filled(page.model_dump_json(exclude_defaults=True))


def _filled(data: str) -> str:
    parts = _parts()
    # Inside of a script element `<` could end it; in JSON it stands in strings alone.
    texts = {**parts, "data": data.replace("<", "\\u003c")}
    pieces = re.split(r"\{([a-z_]+)\}", parts["template"])
    return "".join(texts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
