"""Tensors that the names of a constant and of its readers state.

`__module.model.layers.0.self_attn.q_proj/aten::linear/MatMul` and `/model/layers.0/self_attn/q_proj/MatMul` both
contain the path of the module of `model.layers.0.self_attn.q_proj.weight`. A name never proves what a constant is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ir_exec.debug.comparison.pairing.structure import is_generated

__all__ = ["NameIndex", "NamedTensors", "generalize_name", "split_name"]

_SEPARATORS = re.compile(r"[./:#\\\s]+")

_PARAMETERS = ("weight", "bias", "gamma", "beta", "running_mean", "running_var")

_LONGEST = 10
"""Maximum words of a path that are compared."""


class NamedTensors(NamedTuple):
    """Tensors that a name states.

    Attributes:
        tensors: Their names; several if the name does not distinguish them.
        words: The words in common.
        is_complete: True if the complete path of the module is in the name, or the complete name in the path. Words
            before the part in common may be in another order.
        is_parameter: True if the name states a parameter, or a module of which the tensors are the usual parameters.
    """

    tensors: frozenset[str]
    words: tuple[str, ...]
    is_complete: bool
    is_parameter: bool


def split_name(name: str) -> tuple[str, ...]:
    """The words of a name: `model.layers.0.mlp` is model, layers, 0, mlp."""
    return tuple([word for word in _SEPARATORS.split(name.strip("/")) if word])


def _module_words(label: str) -> tuple[tuple[str, ...], bool]:
    """The words of the module in a name, and True for the name of a layer, whose last word is an operator."""
    if "::" in label:
        words = split_name(label[: label.index("::")].rpartition("/")[0])
        return words[1:] if words[:1] == ("__module",) else words, True
    if label.startswith("/"):
        return split_name(label.rpartition("/")[0]), True
    words = split_name(label.removesuffix("_compressed"))
    return words[1:] if words[:1] == ("self",) else words, False


def generalize_name(name: str) -> str:
    """The name with `#` for each number, equal for all layers of a model."""
    return re.sub(r"\d+", "#", name)


class NameIndex:
    """The tensors of a checkpoint by the ends of the paths of their modules."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_suffix: dict[tuple[str, ...], list[str]] = {}
        self._modules: dict[str, tuple[str, ...]] = {}
        self._leaves: dict[str, str] = {}
        self._prefixes: Counter[tuple[str, ...]] = Counter()
        for name in names:
            *module, leaf = split_name(name) or ("",)
            self._modules[name], self._leaves[name] = tuple(module), leaf
            for path in (tuple(module), (*module, leaf)):
                for length in range(1, min(len(path), _LONGEST) + 1):
                    self._by_suffix.setdefault(path[-length:], []).append(name)

    def find(self, labels: Iterable[str], sizes: Mapping[str, int], size: int) -> NamedTensors | None:
        """Return the tensors that the most informative label states.

        Args:
            labels: The names of a constant and of its readers.
            sizes: The elements of each tensor.
            size: The elements of the constant; it is no tensor of another size.
        """
        best: NamedTensors | None = None
        for label in labels:
            if is_generated(label):
                continue
            named = self._find(label, sizes, size)
            if named is not None and (
                best is None or (named.is_complete, len(named.words)) > (best.is_complete, len(best.words))
            ):
                best = named
        return best

    def _find(self, label: str, sizes: Mapping[str, int], size: int) -> NamedTensors | None:
        words, is_reader = _module_words(label)
        # The last word of a constant may be another word for its parameter.
        for end in (len(words),) if is_reader else (len(words), len(words) - 1):
            for length in range(min(end, _LONGEST), 0, -1):
                path = words[end - length : end]
                names = [name for name in self._by_suffix.get(path, ()) if sizes.get(name) == size]
                if not names or not self._is_specific(path, names):
                    continue
                exact = [name for name in names if self._leaves[name] == path[-1]]
                # `model.language_model.layers.0` and `language_model.model.layers.0` are one path.
                others = {*words[: end - length]}
                complete = [name for name in names if others.issuperset(self._prefix(name, path))]
                is_whole_label = length == end and length > 1
                tensors = self._select_prefix(complete or exact or names, path)
                tensors = frozenset(exact) & tensors or tensors
                is_parameter = bool(exact) or all(self._leaves[name] in _PARAMETERS for name in tensors)
                return NamedTensors(tensors, path, bool(complete) or is_whole_label, is_parameter)
        return None

    def _is_specific(self, path: tuple[str, ...], names: Collection[str]) -> bool:
        """Return True if the words state a module, not only a parameter of any module or a kind of layer."""
        if path[-1] in _PARAMETERS:
            path = path[:-1]
        if not path:
            return False
        if any(self._modules[name] == path for name in names):
            return True
        numbered = [name for name in names if any(word.isdigit() for word in self._modules[name])]
        return not all(word.isdigit() for word in path) and (not numbered or any(word.isdigit() for word in path))

    def learn_prefix(self, named: NamedTensors, actual: str) -> None:
        """Count a tensor that a name states, of which the path has further words before those of the name."""
        self._prefixes[self._prefix(actual, named.words)] += 1

    def _select_prefix(self, names: Collection[str], path: tuple[str, ...]) -> frozenset[str]:
        """The names with the most usual words before a path: those of an encoder, for a model that is an encoder."""
        most = max(self._prefixes[self._prefix(name, path)] for name in names)
        return frozenset(name for name in names if self._prefixes[self._prefix(name, path)] == most)

    def _prefix(self, name: str, path: tuple[str, ...]) -> tuple[str, ...]:
        module = self._modules[name]
        words = (*module, self._leaves[name])
        return words[: -len(path)] if words[-len(path) :] == path else module[: -len(path)]

    def module_of(self, name: str) -> tuple[str, ...]:
        """The words of the path of a tensor's module."""
        return self._modules[name]

    def siblings(self, name: str) -> Iterator[str]:
        """The other parameters of a tensor's module."""
        module = self._modules[name]
        yield from (
            other
            for other in self._by_suffix.get(module[-_LONGEST:], ())
            if self._modules[other] == module and other != name
        )
