"""Limits of a prompt: the vocabulary and the context length."""

from __future__ import annotations

from collections.abc import Mapping

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, Location
from ir_exec.text.folders.folder import Folder
from ir_exec.text.folders.vocabularies import embedding_of
from ir_exec.text.generation.folder_decoder import image_token_of
from ir_exec.types import Array

__all__ = ["context_of", "require_prompt"]


def context_of(folder: Folder) -> int | None:
    """Return the maximum number of tokens of the decoder, including the prompt; None if no setting declares it."""
    names = ["n_positions", "max_position_embeddings"]
    if "encoder" in folder.parts:
        names = ["max_target_positions", "max_decoder_position_embeddings", "max_position_embeddings"]
    lengths = [folder.setting("config.json", *path, name) for path in ((), ("text_config",)) for name in names]
    return next(
        (length for length in lengths if isinstance(length, int) and not isinstance(length, bool) and length > 0), None
    )


def require_prompt(folder: Folder, ids: list[int], inputs: Mapping[str, Array]) -> list[int]:
    """Check and return the tokens of a prompt; with `inputs_embeds` no tokens are needed.

    Raises:
        EvaluationError: IR704 for no tokens or too many, IR701 for a token outside the vocabulary.
    """
    if "inputs_embeds" in inputs:
        return ids
    if not ids:
        hint = "pass text, or tokens such as the start token"
        raise EvaluationError("the prompt has no tokens", expected="at least one", code=Code.bad_value, hint=hint)
    part = folder.parts.get("text embeddings") or folder.parts.get("encoder") or folder.decoder
    embedding = embedding_of(part)
    rows = embedding[1] if embedding is not None else folder.setting("config.json", "vocab_size")
    least, most = min(ids), max(ids)
    is_image = most == image_token_of(folder)
    if least < 0 or (isinstance(rows, int) and most >= rows and not is_image):
        raise EvaluationError(
            "the prompt has the token",
            actual=least if least < 0 else most,
            expected=f"0 to {rows - 1}",
            code=Code.index_out_of_range,
        ).located(Location(path=folder.path))
    context = context_of(folder)
    if context is not None and len(ids) > context:
        raise EvaluationError(
            "the prompt has",
            actual=len(ids),
            detail="tokens",
            expected=f"at most {context}",
            reason="the context length of the model",
            code=Code.bad_value,
        ).located(Location(path=folder.path))
    return ids
