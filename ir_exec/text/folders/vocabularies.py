"""The vocabularies of a folder: tokenizer, detokenizer, `tokenizer.json`, embedding and logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ir_exec.errors import IRError
from ir_exec.graph import Node, Value
from ir_exec.kernels.limits import limited_memory
from ir_exec.ops.base.inputs import selects_slices
from ir_exec.text.folders.folder import MOST_CONSTANT_BYTES, Folder, FolderPart, constant_of
from ir_exec.text.ops.base import TextOp, strings_of
from ir_exec.text.ops.splitting import chars_of_bytes

__all__ = ["embedding_of", "entries_of", "json_tokens", "logits_of", "share_of_equal"]

_ENTRIES = ("vocab_begins", "vocab_ends", "vocab_chars")
_ADDED = ("added_begins", "added_ends", "added_chars")


def entries_of(part: FolderPart | None) -> dict[int, bytes] | None:
    """Return the text of each token of a tokenizer or detokenizer; None if it is unknown."""
    if part is None or part.loaded is None:
        return None
    for node in part.nodes:
        inputs = _inputs_by_name(node)
        texts = _strings(part, inputs, _ENTRIES)
        if texts is None:
            continue
        token_input = node.op.token_input if isinstance(node.op, TextOp) else ""
        if token_input:
            ids = constant_of(part, inputs.get(token_input))
            return None if ids is None else dict(zip(ids.ravel().tolist(), texts, strict=False))
        entries = dict(enumerate(texts))
        names, ids = _strings(part, inputs, _ADDED), constant_of(part, inputs.get("added_ids"))
        if names is not None and ids is not None:
            entries |= dict(zip(ids.ravel().tolist(), names, strict=False))
        return entries
    return None


def _inputs_by_name(node: Node) -> dict[str, Value | None]:
    op = node.op
    if op is None:
        return {}
    if isinstance(op, TextOp):
        return op.inputs_by_name(node.inputs) if op.generation(len(node.inputs)) else {}
    return {declared.name: value for declared, value in zip(op.inputs, node.inputs, strict=False)}


def _strings(part: FolderPart, inputs: Mapping[str, Value | None], names: Sequence[str]) -> list[bytes] | None:
    """Return the strings of begins, ends and chars; None if the inputs are missing or not constant."""
    if not inputs.keys() >= set(names):
        return None
    begins, ends, chars = (constant_of(part, inputs[name]) for name in names)
    if begins is None or ends is None or chars is None:
        return None
    try:
        with limited_memory(MOST_CONSTANT_BYTES):
            return strings_of(begins, ends, chars)
    except IRError:
        return None


def json_tokens(folder: Folder) -> dict[int, str]:
    """Return the tokens of `tokenizer.json`, including added tokens; empty without the file or a vocabulary in it."""
    vocabulary = folder.setting("tokenizer.json", "model", "vocab")
    tokens: dict[int, str] = {}
    if isinstance(vocabulary, Mapping):
        tokens = {token: text for text, token in vocabulary.items() if isinstance(token, int)}
    elif isinstance(vocabulary, list):
        tokens = {token: str(row[0]) for token, row in enumerate(vocabulary) if isinstance(row, list) and row}
    added = folder.setting("tokenizer.json", "added_tokens")
    for token in added if isinstance(added, list) else ():
        if isinstance(token, Mapping) and isinstance(token.get("id"), int):
            tokens[token["id"]] = str(token.get("content"))
    return tokens


def share_of_equal(entries: Mapping[int, bytes], tokens: Mapping[int, str | bytes]) -> float:
    """Return the share of common tokens with the same text, independent of the notation of bytes and spaces.

    Returns:
        1 without common tokens.
    """
    common = entries.keys() & tokens.keys()
    if not common:
        return 1.0
    bytes_of_chars = {char: bytes([byte]) for byte, char in enumerate(chars_of_bytes())}

    def forms(token: str | bytes) -> set[bytes]:
        text = token.decode("utf-8", "surrogateescape") if isinstance(token, bytes) else token
        spaced = text.replace("\u2581", " ").replace("</w>", " ")
        raw = b"".join([bytes_of_chars.get(char, _encode(char)) for char in text])
        plain = _encode(text)
        unspaced = {plain, raw, _encode(spaced), plain.removeprefix(b"##"), b" " + plain}
        return unspaced | {raw.replace(b"</w>", b" "), raw.removesuffix(b"</w>")}

    return sum(entries[token] in forms(tokens[token]) or not entries[token] for token in common) / len(common)


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # JSON may contain single surrogates.
        return text.encode("utf-8", "surrogatepass")


def embedding_of(part: FolderPart | None) -> tuple[Node, int, int] | None:
    """Return the layer that looks up the tokens of `input_ids`, and the rows and columns of its table."""
    if part is None or part.loaded is None or part.types is None:
        return None
    reached = {
        node.outputs[0]
        for node in part.loaded.graph.parameters
        if node.outputs and ("ids" in node.name or any("ids" in name for name in node.outputs[0].names))
    }
    for node in part.loaded.graph.nodes:
        if node.op is not None and node.op.preserves_order and node.inputs and node.inputs[0] in reached:
            reached |= set(node.outputs)
        if (
            selects_slices(node.op_class.inputs)
            and len(node.inputs) > 1
            and node.inputs[1] in reached
            and node.inputs[0] is not None
        ):
            table = part.types[node.inputs[0].number].shape
            if table.rank == 2 and table.is_static:
                rows, columns = table.static
                return node, rows, columns
    return None


def logits_of(part: FolderPart | None) -> tuple[Node, int] | None:
    """Return the Result of the logits, and the number of logits per token."""
    if part is None or part.loaded is None or part.types is None:
        return None
    output: Any = part.outputs.get("logits") or (next(iter(part.outputs.values())) if len(part.outputs) == 1 else None)
    if output is None or not output[0].values_in:
        return None
    shape = part.types[output[0].values_in[0].number].shape
    return (output[0], shape[-1].size) if shape.rank and shape[-1].is_static else None
