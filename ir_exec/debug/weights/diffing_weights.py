"""An account of the weights of a model against a checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, get_args

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.diffs.listing import opened
from ir_exec.debug.weights.adapters import find_adapters, merge_adapters
from ir_exec.debug.weights.axis_factors import explain_axis_factors
from ir_exec.debug.weights.checkpoint_files import find_adapter, is_checkpoint, open_checkpoint
from ir_exec.debug.weights.computed_tables import is_computed_table
from ir_exec.debug.weights.derived import TYPED_POSITIONS, list_sources
from ir_exec.debug.weights.differences import describe_difference, is_slightly_off
from ir_exec.debug.weights.matching import Matcher, WeightMatch
from ir_exec.debug.weights.model_weights import ModelWeight, find_model_weights
from ir_exec.debug.weights.names import NamedTensors, NameIndex
from ir_exec.debug.weights.placement import fault_of, find_misplaced
from ir_exec.debug.weights.provenance import find_foreign
from ir_exec.debug.weights.readers.tensors import Checkpoint
from ir_exec.debug.weights.records import AccountedWeight, FaultCategory, WeightFault, WeightsDiff
from ir_exec.debug.weights.row_alignment import align_rows
from ir_exec.debug.weights.smoothing import match_smoothed
from ir_exec.debug.weights.tensor_account import account_for_tensors, find_missing
from ir_exec.errors import Location, WeightsError
from ir_exec.hub_cache import cached_path
from ir_exec.ir.regular_files import open_regular
from ir_exec.model import Loaded, Model, Source, WeightsSource, read_model
from ir_exec.readers import SOURCE_TYPES, ModelObject, class_of_object

__all__ = ["diff_weights"]

_LEAST_ELEMENTS = 16
"""Minimum elements of a constant that counts as a weight if it is like no tensor."""

_MOST_SETTINGS = 2**24

_MOST_SAMPLES = 4096

_CORRECTED = 0.9
"""Minimum correlation of a bias that quantization corrects with the original one."""

_EMBEDDINGS = ("embed", "shared", "wte", "token")
"""Words in the names of tables of tokens."""

_RANKS = {category: rank for rank, category in enumerate(get_args(FaultCategory))}


def diff_weights(
    model: Model | Loaded | Source,
    checkpoint: Checkpoint | Model | str | os.PathLike[str] | ModelObject,
    *,
    weights: WeightsSource | None = None,
    adapter: str | os.PathLike[str] | None = None,
    progress: Callable[[str], object] = lambda name: None,
) -> WeightsDiff:
    """Account for all weights of a model and all tensors of a checkpoint, by value.

    Each weight is found in the checkpoint by its numbers: as it is, transposed, reshaped, concatenated, cast,
    quantized, folded with a batch normalization, or merged with an adapter. Names only state the expected tensor.

    Args:
        model: A model, its file, or a folder with the models of a pipeline.
        checkpoint: A file of safetensors, GGUF, NumPy (.npz) or PyTorch, an index of several, a folder with one of
            them, or another model, also one of another package in memory.
        weights: The .bin of the model; by default the one next to the .xml.
        adapter: A file or folder with an adapter (LoRA) that should be merged into the weights; by default the one in
            the folder of the checkpoint.
        progress: Called with the name of each weight.

    Raises:
        WeightsError: IR201 for a checkpoint of the wrong type.
        IRError: If a file cannot be read. Nothing in a checkpoint is executed.
    """
    model_weights = _open_model(model, weights)
    if class_of_object(checkpoint) is not None:
        checkpoint = read_model(checkpoint)  # type: ignore[arg-type]  # an object of another package
    elif not isinstance(checkpoint, (Checkpoint, Model, str, os.PathLike)):
        raise WeightsError(
            "the checkpoint is of type",
            actual=type(checkpoint).__name__,
            expected=SOURCE_TYPES,
            code=Code.weights_missing,
        )
    if isinstance(checkpoint, str):
        checkpoint = cached_path(checkpoint) or checkpoint
    source = _open_tensors(checkpoint)
    adapter_path = adapter if adapter is not None else _adapter_in(checkpoint, source)
    if adapter_path is not None:
        addition = open_checkpoint(_adapter_file(os.fspath(adapter_path)))
        source = replace(source, tensors={**source.tensors, **addition.tensors}, settings=addition.settings)
    return _Account(model_weights, source, progress).report(_name_of(model), source.path)


def _open_model(model: Model | Loaded | Source, weights: WeightsSource | None) -> list[ModelWeight]:
    if isinstance(model, str | os.PathLike) and os.path.isdir(model):
        paths = find_models(os.fspath(model))
        if not paths:
            raise WeightsError("the folder has no model", location=Location(path=os.fspath(model)))
        parts = [_weights_of(path, None, f"{os.path.splitext(os.path.basename(path))[0]}:") for path in paths]
        if len(parts) > 1:
            return [weight for part in parts for weight in part]
        return _weights_of(paths[0], None, "")
    return _weights_of(model, weights, "")


def find_models(folder: str) -> list[str]:
    """The models of a folder, without tokenizers."""
    names = sorted(name for name in os.listdir(folder) if name.endswith((".xml", ".onnx")))
    return [os.path.join(folder, name) for name in names if "tokenizer" not in name]


def _weights_of(model: Model | Loaded | Source, weights: WeightsSource | None, prefix: str) -> list[ModelWeight]:
    content = opened(model, weights)
    if content.weights is None:
        raise WeightsError("the weights of the model are missing", location=Location(path=_name_of(model)))
    model_weights = find_model_weights(content.graph, content.weights)
    return [replace(weight, name=f"{prefix}{weight.name}") for weight in model_weights] if prefix else model_weights


def _open_tensors(checkpoint: Checkpoint | Model | str | os.PathLike[str]) -> Checkpoint:
    if isinstance(checkpoint, Checkpoint):
        return checkpoint
    if isinstance(checkpoint, Model) or (not is_checkpoint(os.fspath(checkpoint)) and _is_model(os.fspath(checkpoint))):
        tensors = {weight.name: weight for weight in _open_model(checkpoint, None)}
        return Checkpoint(_name_of(checkpoint), "model", tensors)
    return open_checkpoint(checkpoint)


def _is_model(path: str) -> bool:
    return path.lower().endswith((".xml", ".onnx")) or (os.path.isdir(path) and bool(find_models(path)))


def _adapter_in(checkpoint: object, source: Checkpoint) -> str | None:
    """The adapter next to the base model in a folder."""
    if isinstance(checkpoint, str | os.PathLike) and os.path.isdir(checkpoint):
        path = find_adapter(os.fspath(checkpoint))
        return None if path == source.path else path
    return None


def _adapter_file(path: str) -> str:
    return (find_adapter(path) or path) if os.path.isdir(path) else path


def _name_of(model: object) -> str:
    if isinstance(model, str | os.PathLike):
        return os.fspath(model)
    return model.name if isinstance(model, Model) else "model"


class _Account:
    """The steps of an account.

    Args:
        weights: All weights of the model.
        checkpoint: The tensors.
    """

    def __init__(
        self, weights: Sequence[ModelWeight], checkpoint: Checkpoint, progress: Callable[[str], object]
    ) -> None:
        self.weights = weights
        self.checkpoint = checkpoint
        self.index = NameIndex(checkpoint.tensors)
        self.matcher = Matcher(list_sources(checkpoint.tensors), self.index, progress)
        self.adapters = find_adapters(checkpoint.tensors, checkpoint.settings)
        self.named: dict[ModelWeight, NamedTensors | None] = {}
        self.matches: dict[ModelWeight, WeightMatch | None] = {}
        self.faults: list[WeightFault] = []
        self.scales: set[ModelWeight] = set()

    def report(self, model: str, path: str) -> WeightsDiff:
        """Return the account."""
        self.matches = self.matcher.match_all(self.weights)
        for weight, match in self.matches.items():
            if match is not None and (not match.is_explained or match.relation.form == "scaled columns"):
                scaled = explain_axis_factors(match, self.matcher.sources)
                self.matches[weight] = match if scaled is None else scaled
        self.matcher.match_scaled_biases(self.matches)
        smoothed, self.scales = match_smoothed(self.matches, self.matcher)
        self.matches |= smoothed
        self._learn_prefixes()
        self.named = {weight: self.matcher.find_expected(weight) for weight in self.weights}
        self._align_remaining()
        names = {weight: frozenset() if named is None else named.tensors for weight, named in self.named.items()}
        self.faults += merge_adapters(self.matches, self.adapters, self.matcher.by_name, names)
        self._compare_named()
        self._accept_methods()
        self.faults += find_misplaced(self.matches, self.matcher, self.checkpoint.format)
        self._describe_differences()
        counted = [weight for weight in self.weights if self._is_weight(weight)]
        of_adapters = frozenset(name for adapter in self.adapters for name in adapter.names)
        self.faults += find_foreign(counted, self.matches, self.faults, self.checkpoint, of_adapters)
        claimed = {
            name: fault.path
            for fault in self.faults
            for name in (*fault.tensors, *fault.actual_tensors)
            if fault.path is not None
        }
        tensors = account_for_tensors(self.checkpoint, self.matches, claimed, self.matcher, self.index)
        self.faults += find_missing(tensors, self.index, of_adapters, _count_layers(path))
        self.faults.sort(key=lambda fault: (_RANKS[fault.category], -fault.bytes))
        accounted = [self._account_for(weight) for weight in counted]
        return WeightsDiff(
            model=model,
            checkpoint=path,
            format=self.checkpoint.format,
            faults=tuple(self.faults),
            weights=tuple(accounted),
            tensors=tuple(tensors),
            bytes=sum(weight.bytes for weight in accounted if not weight.is_computed),
            explained_bytes=sum(weight.bytes for weight in accounted if weight.is_explained),
        )

    def _learn_prefixes(self) -> None:
        """Learn which part of the checkpoint the names of the model belong to."""
        for weight, match in self.matches.items():
            named = None if match is None or not match.is_explained else self.matcher.find_expected(weight)
            if match is not None and named is not None and match.sources[0].name in named.tensors:
                self.index.learn_prefix(named, match.sources[0].name)

    def _is_weight(self, weight: ModelWeight) -> bool:
        """Return True for weights of the checkpoint, and for constants that are as large as weights and no masks."""
        if self.matches.get(weight) is not None:
            return True
        return weight.elements >= _LEAST_ELEMENTS and not _is_mask(weight)

    def _account_for(self, weight: ModelWeight) -> AccountedWeight:
        match = self.matches.get(weight)
        details: dict[str, Any] = {
            "is_computed": match is None and (weight in self.scales or is_computed_table(weight))
        }
        if match is not None:
            details = {
                "tensors": match.names,
                "transformations": match.transformations,
                "different": match.comparison.different,
                "beyond_half": match.comparison.beyond_half,
                "clipped": match.comparison.clipped,
                "sqnr_db": match.comparison.sqnr_db,
                "is_explained": match.is_explained,
            }
        return AccountedWeight(
            path=weight.name,
            layer_ids=weight.layer_ids,
            readers=tuple(reader.path for reader in weight.readers),
            shape=weight.shape,
            format=weight.format,
            bytes=weight.size,
            **details,
        )

    def _align_remaining(self) -> None:
        """Find weights that are concatenated, split or permuted."""
        for weight in self.weights:
            if self.matches[weight] is not None or weight.elements < _LEAST_ELEMENTS:
                continue
            match = self.matcher.match_flipped(weight) or align_rows(weight, self._likely_sources(weight))
            if match is not None:
                self.matches[weight] = match

    def _likely_sources(self, weight: ModelWeight) -> list[Any]:
        """The tensors, first those with the numbers in the names of the weight, and unused ones."""
        digits = {word for label in weight.labels for word in label.replace(".", "/").split("/") if word.isdigit()}
        used = {name for match in self.matches.values() if match is not None for name in match.names}

        def rank(name: str) -> tuple[bool, bool]:
            numbers = [word for word in name.split(".") if word.isdigit()]
            return bool(numbers) and numbers[0] not in digits, name in used

        computed = [source for source in self.matcher.sources if source.transformation == TYPED_POSITIONS]
        return [*(self.matcher.by_name[name] for name in sorted(self.matcher.by_name, key=rank)), *computed]

    def _compare_named(self) -> None:
        """Compare weights that are like no tensor with the one that their names state."""
        used = {name for match in self.matches.values() if match is not None for name in match.names}
        for weight, match in list(self.matches.items()):
            if match is not None:
                continue
            named = self.named[weight]
            names = [] if named is None else sorted(named.tensors, key=lambda name: (name in used, name))
            is_certain = named is not None and named.is_parameter and (named.is_complete or len(named.words) > 1)
            if named is not None and is_certain and (names[0] not in used or (named.is_complete and len(names) == 1)):
                self.matches[weight] = self.matcher.compare_named(weight, names[0])
            elif not names:
                self._compare_with_embedding(weight)
        self._compare_last(used)

    def _compare_with_embedding(self, weight: ModelWeight) -> None:
        """A head that should be the embedding, because the checkpoint has no other tensor for it."""
        if not weight.is_read_as("matrix") or weight.elements < 4096:
            return
        for other, match in self.matches.items():
            if (
                match is None
                or not other.is_read_as("table")
                or other.elements != weight.elements
                or len(match.sources) != 1
            ):
                continue
            compared = self.matcher.compare_named(weight, match.sources[0].name)
            if compared is not None:
                self.matches[weight] = compared
                name = match.sources[0].name
                message = f"the values are those of no tensor, expected {name}: the checkpoint has no head of its own"
                self.faults.append(fault_of(weight, "untied", message, tensors=(name,)))
            return

    def _compare_last(self, used: set[str]) -> None:
        """Compare the only weight without a tensor with the only tensor of its size that is not used."""
        remaining = [
            weight
            for weight, match in self.matches.items()
            if match is None and weight.elements >= 1024 and self.named[weight] is None
        ]
        for weight in remaining:
            same_size = [other for other in remaining if other.elements == weight.elements]
            tensors = [
                name for name, size in self.matcher.sizes.items() if size == weight.elements and name not in used
            ]
            if weight.is_read_as("table"):
                # The table of tokens may be tied to a head that the model does not have.
                tensors = [name for name in tensors if any(word in name for word in _EMBEDDINGS)]
            if len(same_size) == len(tensors) == 1:
                self.matches[weight] = self.matcher.compare_named(weight, tensors[0])

    def _accept_methods(self) -> None:
        """Accept the differences of quantization methods: corrected biases, and weights moved further than rounding."""
        for weight, match in self.matches.items():
            if match is None or match.is_explained or not weight.has_quantized_data:
                continue
            is_bias = match.sources[0].name.endswith("bias") and {reader.use for reader in weight.readers} == {
                "elements"
            }
            if is_bias and match.comparison.correlation > _CORRECTED:
                self._accept(match, "corrected by the quantization")
        quantized = [match for match in self.matches.values() if match is not None and match.weight.rows is not None]
        moved = [match for match in quantized if not match.is_explained]
        if len(moved) < 4 or len(moved) * 2 < len(quantized):
            return
        usual = median([match.comparison.different / match.comparison.elements for match in moved])
        for match in moved:
            share = match.comparison.different / match.comparison.elements
            if share <= max(2 * usual, 0.01) and usual < 0.3 and match.comparison.correlation > 0.9:
                self._accept(match, "moved by the quantization")

    def _accept(self, match: WeightMatch, transformation: str) -> None:
        """Accept the differences of a weight as those of a quantization method."""
        comparison = replace(match.comparison, different=0)
        words = (*match.transformations, transformation)
        self.matches[match.weight] = replace(match, comparison=comparison, transformations=words)

    def _describe_differences(self) -> None:
        faulty = {fault.path for fault in self.faults}
        quantized = [
            match.comparison
            for match in self.matches.values()
            if match is not None and match.weight.rows is not None and match.is_explained
        ]
        shares = [comparison.beyond_half / max(comparison.elements, 1) for comparison in quantized]
        usual = median(shares) if len(shares) > 2 else 0.0
        for weight, match in self.matches.items():
            if match is None or weight.name in faulty:
                continue
            names = tuple([source.name for source in match.sources])
            if not match.is_explained:
                category, message = describe_difference(match, self.matcher)
                self._add(match, category, message, names)
            elif weight.rows is not None and len(quantized) > 2 and is_slightly_off(match.comparison, usual):
                share = match.comparison.beyond_half / match.comparison.elements
                message = (
                    f"{share:.1%} of the values differ from {names[0]} by more than half a step, expected none: "
                    "like another state of its training"
                )
                self._add(match, "stale", message, names)

    def _add(self, match: WeightMatch, category: str, message: str, names: Iterable[str]) -> None:
        self.faults.append(
            fault_of(match.weight, category, message, tensors=tuple(names), different=match.comparison.different)
        )


def _is_mask(weight: ModelWeight) -> bool:
    """Return True for a constant of at most two numbers, which an exporter computed."""
    positions = np.linspace(0, weight.elements - 1, min(weight.elements, _MOST_SAMPLES)).astype(np.int64)
    return len(np.unique(weight.gather(positions))) <= 2


def _count_layers(path: str) -> int | None:
    """The number of layers in the settings next to a checkpoint."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    try:
        with open_regular(os.path.join(folder, "config.json")) as file:
            settings = json.loads(file.read(_MOST_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return None
    values = (settings.get(key) for key in ("num_hidden_layers", "n_layer")) if isinstance(settings, Mapping) else ()
    return next((value for value in values if isinstance(value, int)), None)
