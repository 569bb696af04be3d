"""Storage of the outputs of many items in a folder: a file for each, and a manifest that allows a run to be continued.

`manifest.jsonl` contains a line about the model, and one for each finished item: the sources of its arrays, their
digest, and its output or its error. A truncated line is ignored; the last line about an item counts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Self

from ir_exec.batch.items import StoredItem
from ir_exec.batch.running import ItemResult
from ir_exec.batch.worker import StoringItem
from ir_exec.codes import Code
from ir_exec.debug.values.files import write_npz
from ir_exec.errors import EvaluationError, IRError
from ir_exec.ir.storage import require_replaceable
from ir_exec.model import Model, ModelPort

__all__ = ["MANIFEST", "OutputFolder", "network_digest"]

MANIFEST = "manifest.jsonl"


def network_digest(model: Model, options: Mapping[str, Any]) -> str:
    """Return the sha256 of everything that determines the outputs: layers, weights, given shapes and options."""
    digest = sha256()
    for content in model.content():
        digest.update(content)
    digest.update(repr(sorted((port.name, str(port.shape)) for port in model.inputs)).encode("utf-8", "surrogatepass"))
    digest.update(repr(sorted(options.items())).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class OutputFolder:
    """A folder for the outputs of items, by their names; a context manager that closes the manifest.

    Attributes:
        known: The number of items that it had when it was opened.
        changed: The number of these with different arrays since.
    """

    def __init__(self, path: Path, entries: dict[str, dict[str, Any]], manifest: IO[str]) -> None:
        self.path = path
        self.known = self.changed = 0
        self._entries = entries
        self._manifest = manifest
        self._folders: set[str] = set()

    @classmethod
    def open(cls, path: str | os.PathLike[str], digest: str, about: Mapping[str, Any]) -> Self:
        """Create the folder, or continue in one of the same model.

        Args:
            digest: The digest of the model.
            about: Further entries of the manifest.

        Raises:
            IRError: IR009 if it cannot be written.
            EvaluationError: IR705 if it contains the outputs of another model, or other files.
        """
        folder = Path(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lines = list(_lines(folder / MANIFEST))
            if not lines and any(folder.iterdir()):
                message = f"{path} contains files but no {MANIFEST}"
                raise EvaluationError(
                    message, code=Code.unknown_input, hint="specify a new or an empty folder for the outputs"
                )
            if lines and lines[0].get("network") != digest:
                message = f"{path} contains outputs of another model, other weights or other options"
                raise EvaluationError(
                    message, code=Code.unknown_input, hint="specify another folder, or delete this one"
                )
            manifest = (folder / MANIFEST).open("a", encoding="utf-8")
        except OSError as error:
            raise _unwritable(path, error) from None
        opened = cls(folder, {line["item"]: line for line in lines[1:] if "item" in line}, manifest)
        if not lines:
            opened._write({"network": digest, **about})
        elif _is_cut_off(folder / MANIFEST):
            manifest.write("\n")
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._manifest.close()

    def select_unfinished(
        self, items: Iterable[tuple[str, StoredItem]], ports: Sequence[ModelPort]
    ) -> Iterator[tuple[str, StoredItem]]:
        """Yield the items without an output for the same arrays: failed, changed and new ones."""
        for name, item in items:
            entry = self._entries.get(name)
            if entry is not None and entry["output"] is not None and (self.path / entry["output"]).is_file():
                if _is_same(entry, item, ports):
                    self.known += 1
                    continue
                self.changed += 1
            yield name, item

    def delegate(self, name: str, item: StoredItem) -> StoringItem:
        """Return the item for a worker that writes its outputs into the folder.

        Raises:
            IRError: IR009 if there cannot be such a file.
        """
        path = self._output_path(name)
        require_replaceable(path, "npz")
        return StoringItem(item, path)

    def add(self, name: str, item: StoredItem, result: ItemResult) -> None:
        """Write the outputs of an item, unless the worker wrote them, and then its line.

        Raises:
            IRError: IR009 if writing fails.
        """
        if result.error is not None and result.error.code == Code.unwritable:
            raise result.error
        output = f"{name}.npz" if result.error is None else None
        error = None if result.error is None else {"code": str(result.error.code), "message": str(result.error)}
        if result.outputs is not None:
            write_npz(self._output_path(name), {str(key): array for key, array in result.outputs.items()})
        self._write(
            {"item": name, **_source(item), "stamps": _stamps(item), "digest": result.digest}
            | {"output": output, "error": error}
        )

    def _output_path(self, name: str) -> str:
        """Return the path of the outputs of an item, and create its folder."""
        path = os.path.join(self.path, f"{name}.npz")
        folder = os.path.dirname(path)
        if folder not in self._folders:
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError as error:
                raise _unwritable(path, error) from None
            self._folders.add(folder)
        return path

    def _write(self, entry: Mapping[str, Any]) -> None:
        try:
            self._manifest.write(json.dumps(entry) + "\n")
            self._manifest.flush()
        except OSError as error:
            raise _unwritable(self.path / MANIFEST, error) from None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with suppress(FileNotFoundError), path.open(encoding="utf-8") as file:
        for line in file:
            with suppress(ValueError, RecursionError):
                entry = json.loads(line)
                if isinstance(entry, dict):
                    yield entry


def _is_cut_off(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def _source(item: StoredItem) -> dict[str, Any]:
    files = [{"path": file.path, **({"input": file.input} if file.input else {})} for file in item.files]
    return {"files": files, "rows": None if item.rows is None else list(item.rows)}


def _stamps(item: StoredItem) -> list[list[int]] | None:
    """Return the sizes and modification times; None if they are not meaningful, as for folders."""
    try:
        statuses = [os.stat(file.path) for file in item.files if not os.path.isdir(file.path)]
    except OSError:
        return None
    return [[status.st_size, status.st_mtime_ns] for status in statuses] if len(statuses) == len(item.files) else None


def _is_same(entry: Mapping[str, Any], item: StoredItem, ports: Sequence[ModelPort]) -> bool:
    """Return True if an output belongs to the current arrays of the item; they are read only if their files changed."""
    if {key: entry.get(key) for key in ("files", "rows")} != _source(item):
        return False
    stamps = _stamps(item)
    if stamps is not None and stamps == entry.get("stamps"):
        return True
    try:
        return item.load(ports)[1] == entry.get("digest")
    except (OSError, IRError):
        return False  # the run will report it


def _unwritable(path: str | os.PathLike[str], error: OSError) -> IRError:
    return IRError(f"cannot write {os.fspath(path)}: {error.strerror or error}", code=Code.unwritable)
