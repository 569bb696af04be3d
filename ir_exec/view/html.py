"""One HTML file from the data of a page, which loads no other resources, and a frame for notebooks."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from ir_exec import __version__
from ir_exec.model import Loaded, Model
from ir_exec.report.html import escape_html, quote_markup
from ir_exec.report.records import to_json
from ir_exec.view.data import PageView
from ir_exec.view.networks import OpenedFile, network_view
from ir_exec.view.text import LayerPlaces

__all__ = ["MODULES", "frame", "html_of"]

_HERE = Path(__file__).parent

MODULES = ("dom", "network", "layout", "colours", "scene", "details", "search", "address", "layers", "times", "main")
"""The modules of the front end in `page/`, each after the modules that it imports."""

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


@cache
def _parts() -> dict[str, str]:
    """The common texts of all pages. All modules are joined into one script, so their names must be unique."""
    library = _read("vendor/dagre.js")
    modules = "\n".join(_EXPORT.sub("", _IMPORT.sub("", _read(f"page/{name}.js"))) for name in MODULES)
    script = f'"use strict";\n{modules}'
    style = _read("page/style.css")
    hashes = {"script_hashes": f"{_hash(library)} {_hash(script)}", "style_hash": _hash(style)}
    return {"template": _read("page/page.html"), "library": library, "script": script, "style": style, **hashes}


def html_of(page: PageView) -> str:
    """The whole file. Its content security policy allows only its own scripts, and no loading of resources."""
    return _fill_page(to_json(page, indent=None, exclude_defaults=True))


def _fill_page(data: str) -> str:
    parts = _parts()
    # Inside a script element, `<` could end the element; in JSON, it occurs only in strings.
    # No text ends the script, and none is a command of a CI service that prints the page.
    texts = {**parts, "data": data.replace("<", "\\u003c").replace("##[", "#\\u0023[")}
    pieces = re.split(r"\{([a-z_]+)\}", parts["template"])
    return "".join(texts[piece] if position % 2 else piece for position, piece in enumerate(pieces))


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_MOST_LAYERS = 3000
"""Maximum layers of a model in a notebook: notebooks store their outputs, and larger pages would make them slow."""


def frame(model: Model) -> str | None:
    """An `<iframe>` with the folded page, without the lines of the file; None if the model is too large."""
    places = LayerPlaces(model.graph)
    if len(places.keys) > _MOST_LAYERS:
        return None
    inferred = dict(zip(model.graph.values, model.types, strict=True))
    loaded = Loaded(model.document, model.graph, model.weights, model.document)
    network = network_view(OpenedFile(None, None, loaded, inferred, places))
    page = PageView(format=1, made_by=__version__, title=network.title, folded=True, networks=(network,))
    # Scripts in the frame have no access to the notebook.
    return (
        f'<iframe sandbox="allow-scripts" style="width:100%;height:480px;border:1px solid #8888;border-radius:8px" '
        f'title="{escape_html(network.title)}" srcdoc="{quote_markup(html_of(page))}"></iframe>'
    )
