"""Rules for contradictions between vocabularies and special tokens of the files of a folder."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, Severity
from ir_exec.text.folders.folder import Folder, FolderPart
from ir_exec.text.folders.vocabularies import embedding_of, entries_of, json_tokens, logits_of, share_of_equal

__all__ = ["folder_fault", "rt_info_location", "special_tokens", "vocabularies"]


def folder_fault(
    code: Code,
    message: str,
    location: Location,
    severity: Severity = "error",
    hint: str | None = None,
    related: tuple[Location, ...] = (),
    **parts: Any,
) -> IRError:
    return IRError(message, code=code, hint=hint, severity=severity, location=location, related=related, **parts)


_SAME = 0.9
"""Minimum share of equal entries of two vocabularies that are considered the same."""


def vocabularies(folder: Folder) -> Iterator[IRError]:
    """IR803: a vocabulary that differs from other parts, or does not fit the model."""
    tokenizer, detokenizer = folder.parts.get("tokenizer"), folder.parts.get("detokenizer")
    written, read = entries_of(tokenizer), entries_of(detokenizer)
    if written and read and tokenizer and detokenizer:
        share = share_of_equal(read, written)
        if share < _SAME or max(written) != max(read):
            message = (
                f"the detokenizer has {max(read) + 1} tokens and the tokenizer has {max(written) + 1}; "
                f"{share:.0%} of the common tokens are equal"
            )
            yield folder_fault(
                Code.vocabularies_differ,
                message,
                detokenizer.location,
                related=(tokenizer.location,),
                expected="equal vocabularies",
            )
    yield from _against_json(folder, tokenizer, written)
    yield from _against_network(folder, tokenizer, written or read)


def _against_json(
    folder: Folder, tokenizer: FolderPart | None, written: Mapping[int, bytes] | None
) -> Iterator[IRError]:
    tokens = json_tokens(folder)
    if not tokens or not written or tokenizer is None:
        return
    share = share_of_equal(written, tokens)
    settings = folder.settings["tokenizer.json"]
    if share < _SAME or abs(max(tokens) - max(written)) > 0:
        message = (
            f"tokenizer.json has {max(tokens) + 1} tokens and openvino_tokenizer.xml has {max(written) + 1}; "
            f"{share:.0%} of the common tokens are equal"
        )
        yield folder_fault(
            Code.vocabularies_differ,
            message,
            tokenizer.location,
            related=(settings.location("vocab"),),
            expected="equal vocabularies",
        )


def _against_network(
    folder: Folder, tokenizer: FolderPart | None, tokens: Mapping[int, bytes] | None
) -> Iterator[IRError]:
    part = folder.parts.get("text embeddings") or folder.decoder
    embedding, logits = embedding_of(part), logits_of(folder.decoder)
    config = folder.settings.get("config.json")
    size = folder.setting("config.json", "vocab_size") or folder.setting("config.json", "text_config", "vocab_size")
    if embedding is None:
        return
    node, rows = embedding[:2]
    fault = partial(
        folder_fault,
        Code.vocabularies_differ,
        related=(node.location,),
        expected=rows,
        reason="the rows of the embedding",
    )
    if tokens and tokenizer is not None and not rows // 2 <= max(tokens) + 1 <= rows:
        severity: Severity = "error" if max(tokens) >= rows else "warning"
        yield fault("the tokenizer has", tokenizer.location, severity, actual=max(tokens) + 1, detail="tokens")
    if logits is not None and folder.kind == "language model" and rows != logits[1]:
        yield fault("the model computes", logits[0].location, actual=logits[1], detail="logits")
    if isinstance(size, int) and config is not None and size != rows:
        yield fault("vocab_size is", config.location("vocab_size"), actual=size)


_ABSENT = -1
"""The id of a text that is not in the vocabulary."""


class TokenClaim(NamedTuple):
    """The ids of a special token that a file declares."""

    ids: tuple[int, ...]
    location: Location
    source: str


def special_tokens(folder: Folder) -> Iterator[IRError]:
    """IR804: ids of special tokens that differ between files, or are not in the vocabulary."""
    embedding = embedding_of(folder.parts.get("text embeddings") or folder.decoder)
    tokens = entries_of(folder.parts.get("tokenizer")) or {}
    rows = embedding[1] if embedding is not None else max(tokens, default=-1) + 1
    for token_name in ("bos", "eos", "pad", "unk"):
        claims = list(_claims(folder, token_name))
        for claim in claims:
            outside = [token for token in claim.ids if rows and not 0 <= token < rows and token != _ABSENT]
            if outside:
                expected = f"0 to {rows - 1}"
                text = f"{token_name}_token_id is"
                yield folder_fault(Code.special_tokens, text, claim.location, actual=outside[0], expected=expected)
        yield from _contradictions(token_name, claims)


def _claims(folder: Folder, token_name: str) -> Iterator[TokenClaim]:
    for file in ("config.json", "generation_config.json"):
        ids = _ids(folder.setting(file, f"{token_name}_token_id"))
        ids = ids or _ids(folder.setting(file, "text_config", f"{token_name}_token_id"))
        if ids:
            yield TokenClaim(ids, folder.settings[file].location(f"{token_name}_token_id"), file)
    for name in ("tokenizer", "detokenizer"):
        part = folder.parts.get(name)
        text = part.rt_info(f"{token_name}_token_id") if part is not None else None
        if part is not None and text is not None and re.fullmatch(r"-?\d{1,18}", text):
            yield TokenClaim(
                (int(text),), rt_info_location(part, f"{token_name}_token_id"), os.path.basename(part.path)
            )
    text = folder.setting("tokenizer_config.json", f"{token_name}_token")
    content = text.get("content") if isinstance(text, Mapping) else text
    by_text = {entry: token for token, entry in json_tokens(folder).items()}
    if isinstance(content, str) and by_text:
        location = folder.settings["tokenizer_config.json"].location(f"{token_name}_token")
        if content in by_text:
            yield TokenClaim((by_text[content],), location, "tokenizer_config.json")
        else:
            yield TokenClaim((_ABSENT,), location, "tokenizer_config.json")


def _ids(value: Any) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    return tuple([token for token in value if isinstance(token, int)]) if isinstance(value, list) else ()


def rt_info_location(part: FolderPart, name: str) -> Location:
    setting = part.loaded.document.rt_info.child(name) if part.loaded is not None else None
    return Location(path=part.path, line=(setting.line or None) if setting is not None else None)


def _contradictions(token_name: str, claims: list[TokenClaim]) -> Iterator[IRError]:
    """Report claims without the most common id."""
    counts = Counter(token for claim in claims for token in set(claim.ids))
    if len(claims) < 2 or not counts:
        return
    most, number = counts.most_common(1)[0]
    odd = [claim for claim in claims if most not in claim.ids]
    if not odd:
        return
    usual = next(claim for claim in claims if most in claim.ids)
    severity: Severity = "error" if token_name == "eos" or (number > 1 and token_name == "bos") else "warning"
    for claim in odd:
        is_absent = claim.ids == (_ABSENT,)
        yield folder_fault(
            Code.special_tokens,
            f"{token_name}_token is not in the vocabulary"
            if is_absent
            else f"{token_name}_token_id in {claim.source} is",
            claim.location,
            severity,
            related=(usual.location,),
            actual=None if is_absent else ", ".join(map(str, claim.ids)),
            expected=f"token {most}" if is_absent else most,
            reason=f" as in {usual.source}",
        )
