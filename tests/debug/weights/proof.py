"""Accounts for exported models, sound ones and ones with a planted fault: python -m tests.debug.weights.proof FOLDER.

FOLDER is one that `python -m tests.debug.weights.export` wrote. Faults are planted into the IR in f32, which is then
compressed by `ir_exec.build`; the first line of the account must name the weight, and the kind of fault. Each model has
its own process, and its results are kept in `sound.json` and `planted.json`; --again repeats them, and --sound leaves
the faults out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ir_exec import read_model
from ir_exec.build.compress import Compression, compress_weights
from ir_exec.debug.weights.checkpoint_files import open_checkpoint
from ir_exec.debug.weights.diffing_weights import diff_weights
from ir_exec.debug.weights.names import generalize_name
from ir_exec.debug.weights.readers.tensors import Checkpoint, MemoryTensor
from ir_exec.debug.weights.records import AccountedWeight, WeightsDiff
from ir_exec.errors import IRError
from ir_exec.types import Array
from tests.debug.weights.export import HELD_OUT

FORMATS = ("f32", "f16", "int4")
_SEED = 5


class Planted(NamedTuple):
    """A fault.

    Attributes:
        constants: The new arrays of constants, by path.
        tensors: Tensors that the checkpoint has in addition.
        kinds: The kinds of fault that describe it.
        places: The constants and tensors that the first line may name.
    """

    constants: dict[str, Array]
    kinds: tuple[str, ...]
    places: frozenset[str]
    tensors: Mapping[str, Array] = MappingProxyType({})
    settings: Mapping[str, float] = MappingProxyType({})


class Exported:
    """A sound model in f32: its weights and their arrays."""

    def __init__(self, path: Path, checkpoint: Checkpoint, sound: WeightsDiff) -> None:
        self.path = path
        self.checkpoint = checkpoint
        self.weights = [weight for weight in sound.weights if weight.tensors and weight.is_explained]
        constants = read_model(str(path)).constants
        self.arrays = {weight.path: np.array(constants[weight.path]) for weight in self.weights}
        self.random = np.random.default_rng(_SEED)

    def matrices(self) -> list[AccountedWeight]:
        """Weights of products that are single tensors as they are, or transposed."""
        return [
            weight
            for weight in self.weights
            if len(weight.shape) == 2
            and len(weight.tensors) == 1
            and min(weight.shape) >= 16
            and weight.transformations in ((), ("transposed",))
            and weight.readers
            and "Gather" not in weight.readers[0]
            and "embed" not in weight.tensors[0]
        ]

    def list_names(self, *weights: AccountedWeight) -> frozenset[str]:
        """The names of weights and of their tensors."""
        return frozenset(name for weight in weights for name in (weight.path, *weight.tensors))

    def change(self, weight: AccountedWeight, array: Array, *kinds: str) -> Planted:
        """A fault of one weight."""
        return Planted({weight.path: array.astype(np.float32)}, kinds, self.list_names(weight))

    def pick(self, weights: list[AccountedWeight]) -> AccountedWeight | None:
        """One of the weights."""
        return weights[int(self.random.integers(len(weights)))] if weights else None


Maker = Callable[[Exported], "Planted | None"]


def _change(change: Callable[[Array, np.random.Generator], Array], *kinds: str) -> Maker:
    def make(model: Exported) -> Planted | None:
        weight = model.pick(model.matrices())
        return None if weight is None else model.change(weight, change(model.arrays[weight.path], model.random), *kinds)

    return make


def _one_value(array: Array, random: np.random.Generator) -> Array:
    changed = array.copy()
    row, column = (int(random.integers(size)) for size in array.shape)
    changed[row, column] += 4 * array.std()
    return changed


def _permute(array: Array, random: np.random.Generator) -> Array:
    return array[random.permutation(len(array))]


def _stale(array: Array, random: np.random.Generator) -> Array:
    return array + random.normal(size=array.shape) * 0.2 * array.std()


def _zero_row(array: Array, random: np.random.Generator) -> Array:
    changed = array.copy()
    changed[int(random.integers(len(array)))] = 0
    return changed


def _sign_row(array: Array, random: np.random.Generator) -> Array:
    changed = array.copy()
    changed[int(random.integers(len(array)))] *= -1
    return changed


def _nan(array: Array, random: np.random.Generator) -> Array:
    changed = array.copy()
    changed[0, 0] = np.nan
    return changed


def _swap(is_pair: Callable[[str, str], bool]) -> Maker:
    def make(model: Exported) -> Planted | None:
        pairs = [
            (a, b)
            for a in model.matrices()
            for b in model.matrices()
            if a.path < b.path and a.shape == b.shape and is_pair(a.tensors[0], b.tensors[0])
        ]
        if not pairs:
            return None
        a, b = pairs[int(model.random.integers(len(pairs)))]
        arrays = {a.path: model.arrays[b.path], b.path: model.arrays[a.path]}
        return Planted(arrays, ("swapped", "expert order"), model.list_names(a, b))

    return make


def _is_query_and_key(a: str, b: str) -> bool:
    words = [{"q_proj", "query", "q", "q_lin"}, {"k_proj", "key", "k", "k_lin"}]
    names = [set(name.split(".")) for name in (a, b)]
    same = (
        generalize_name(a.rpartition(".")[0].rpartition(".")[0]),
        generalize_name(b.rpartition(".")[0].rpartition(".")[0]),
    )
    return (
        same[0] == same[1]
        and any(names[i] & words[0] and names[1 - i] & words[1] for i in (0, 1))
        and [word for word in a if word.isdigit()] == [word for word in b if word.isdigit()]
    )


def _swap_layers(model: Exported) -> Planted | None:
    """All weights of two layers."""
    by_tensor = {weight.tensors[0]: weight for weight in model.weights if len(weight.tensors) == 1}
    arrays: dict[str, Array] = {}
    places: list[AccountedWeight] = []
    for name, weight in by_tensor.items():
        other = by_tensor.get(name.replace(".0.", ".1.", 1))
        if other is not None and other is not weight and other.shape == weight.shape:
            arrays |= {weight.path: model.arrays[other.path], other.path: model.arrays[weight.path]}
            places += [weight, other]
    return Planted(arrays, ("swapped",), model.list_names(*places)) if len(places) > 2 else None


def _transpose(model: Exported) -> Planted | None:
    weight = model.pick([weight for weight in model.matrices() if weight.shape[0] == weight.shape[1]])
    return None if weight is None else model.change(weight, model.arrays[weight.path].T.copy(), "transposed")


def _tie_head(model: Exported) -> Planted | None:
    heads = [weight for weight in model.weights if "lm_head" in weight.tensors[0] and len(weight.tensors) == 1]
    embeddings = [weight for weight in model.weights if "embed" in weight.tensors[0] or "wte" in weight.tensors[0]]
    embeddings = [weight for weight in embeddings if heads and weight.shape == heads[0].shape]
    if not heads or not embeddings or heads[0].path == embeddings[0].path:
        return None
    planted = model.change(heads[0], model.arrays[embeddings[0].path], "tied", "other tensor")
    return planted._replace(places=model.list_names(heads[0]))


def _drop_bias(model: Exported) -> Planted | None:
    biases = [
        weight
        for weight in model.weights
        if weight.tensors[0].endswith(".bias")
        and len(weight.tensors) == 1
        and max(weight.shape) == np.prod(weight.shape) > 8
    ]
    weight = model.pick(biases)
    return None if weight is None else model.change(weight, np.zeros_like(model.arrays[weight.path]), "zero", "missing")


def _miss(model: Exported) -> Planted | None:
    weight = model.pick(
        [weight for weight in model.matrices() if f"{weight.tensors[0][:-6]}bias" not in model.checkpoint.tensors]
    )
    if weight is None or not weight.tensors[0].endswith(".weight"):
        return None
    name = f"{weight.tensors[0][:-6]}bias"
    bias = model.random.normal(size=weight.shape[0]).astype(np.float32)
    return Planted({}, ("missing",), frozenset([name]), {name: bias})


def _lora(factor: float, *kinds: str) -> Maker:
    def make(model: Exported) -> Planted | None:
        weight = model.pick([weight for weight in model.matrices() if weight.tensors[0].endswith(".weight")])
        if weight is None:
            return None
        tensor = model.checkpoint.tensors[weight.tensors[0]]
        outputs, inputs = tensor.shape
        down = model.random.normal(size=(4, inputs)).astype(np.float32)
        up = model.random.normal(size=(outputs, 4)).astype(np.float32)
        array = model.arrays[weight.path]
        up *= np.float32(0.5 * array.std() / (up @ down * 2).std())
        delta = factor * (up @ down)
        module = weight.tensors[0].removesuffix(".weight")
        names = {f"base_model.model.{module}.lora_A.weight": down, f"base_model.model.{module}.lora_B.weight": up}
        changed = array + (delta.T if weight.transformations == ("transposed",) else delta)
        places = model.list_names(weight) | {*names}
        return Planted({weight.path: changed.astype(np.float32)}, kinds, places, names, {"lora_alpha": 8})

    return make


def _is_other_expert(a: str, b: str) -> bool:
    return (
        "experts" in a and generalize_name(a) == generalize_name(b) and a.split("experts")[0] == b.split("experts")[0]
    )


FAULTS: dict[str, Maker] = {
    "zeroed": _change(lambda array, random: np.zeros_like(array), "zero"),
    "NaN": _change(_nan, "not finite"),
    "query and key swapped": _swap(_is_query_and_key),
    "layers swapped": _swap_layers,
    "rows permuted": _change(_permute, "permuted rows"),
    "sign": _change(lambda array, random: -array, "sign"),
    "scale": _change(lambda array, random: array * 1.25, "scale"),
    "one value": _change(_one_value, "values"),
    "row of zeros": _change(_zero_row, "rows"),
    "sign of a row": _change(_sign_row, "rows"),
    "transposed": _transpose,
    "stale": _change(_stale, "stale"),
    "tied head": _tie_head,
    "missing": _miss,
    "adapter unused": _lora(0.0, "adapter"),
    "adapter scale": _lora(3.0, "adapter scale"),
    "bias dropped": _drop_bias,
    "expert order": _swap(_is_other_expert),
}

SOUND: dict[str, Maker] = {"adapter merged": _lora(2.0)}


class Row(NamedTuple):
    """The result of an account.

    Attributes:
        case: The fault, or `sound`.
        is_right: True if the account is as expected.
        text: The model, and the first line.
        explained: The bytes of weights that are explained, and of all.
    """

    case: str
    is_right: bool
    text: str
    explained: tuple[int, int] = (0, 0)


def main(folder: Path, arguments: list[str]) -> int:
    """Print the accounts that are wrong, and the shares; return 1 if they are too low."""
    names = [argument for argument in arguments if not argument.startswith("--")]
    steps = ("sound",) if "--sound" in arguments else ("sound", "planted")
    results: dict[str, list[Row]] = {}
    for name in names or sorted(path.name for path in folder.iterdir() if (path / "checkpoint").exists()):
        for step in steps:
            path = folder / name / f"{step}.json"
            if "--again" in arguments:
                path.unlink(missing_ok=True)
            if not path.exists():
                code = f"from tests.debug.weights.proof import prove; prove({str(folder / name)!r}, {step!r})"
                subprocess.run([sys.executable, "-c", code], check=False)
            if path.exists():
                results.setdefault(name, []).extend(Row(*row) for row in json.loads(path.read_text("utf-8")))
                _write(f"{name} {step}: done")
            else:
                results.setdefault(name, []).append(Row("sound", is_right=False, text=f"{name}: {step} failed"))
    for row in [row for rows in results.values() for row in rows if not row.is_right]:
        _write(f"WRONG {row.case}: {row.text}")
    held_out = {name for name in results if name.removesuffix(".initial") in HELD_OUT}
    every = [_summarize("models of the development", results, results.keys() - held_out)]
    every += [_summarize("models set aside", results, held_out)] if held_out else []
    return int(not all(every))


def _summarize(title: str, results: Mapping[str, list[Row]], names: Collection[str]) -> bool:
    rows = [row for name in names for row in results[name]]
    planted = [row for row in rows if row.case in FAULTS]
    sound = [row for row in rows if row.case not in FAULTS]
    named, right = sum(row.is_right for row in planted), sum(row.is_right for row in sound)
    explained, total = (sum(row.explained[index] for row in sound) for index in (0, 1))
    _write(f"{title}: {len(names)}")
    _write(f"  sound: {right} of {len(sound)} right, {explained / max(total, 1):.3%} of the bytes explained")
    _write(f"  planted: {named} of {len(planted)} named in line 1 ({named / max(len(planted), 1):.1%})")
    for fault in (*FAULTS, *SOUND):
        of_fault = [row for row in rows if row.case == fault]
        if of_fault:
            _write(f"    {fault}: {sum(row.is_right for row in of_fault)} of {len(of_fault)}")
    return right == len(sound) and named >= 0.98 * len(planted)


def prove(path: str, step: str) -> None:
    """Write the results of a model."""
    folder = Path(path)
    rows = list(_account_for_exports(folder) if step == "sound" else _plant_faults(folder))
    (folder / f"{step}.json").write_text(json.dumps(rows), "utf-8")


def _account_for_exports(folder: Path) -> Iterator[Row]:
    for path in sorted([*folder.glob("*/*.xml"), *folder.glob("*/*.onnx")]):
        if "tokenizer" in path.name:
            continue
        try:
            account = diff_weights(str(path), folder / "checkpoint")
        except IRError as error:  # NNCF writes scales that no version of ONNX allows
            _write(f"NOT READ {error}")
            continue
        is_right = account.agrees and account.explained_bytes >= 0.99 * account.bytes
        names = [weight.path for weight in account.weights if not weight.is_explained]
        text = f"{'/'.join(path.parts[-3:])}: {account.headline[:200]} {names[:3]}"
        yield Row("sound", is_right, text, (account.explained_bytes, account.bytes))


def _plant_faults(folder: Path) -> Iterator[Row]:
    checkpoint = open_checkpoint(folder / "checkpoint")
    for path in sorted((folder / "f32").glob("*.xml")):
        if "tokenizer" in path.name:
            continue
        sound = diff_weights(str(path), checkpoint)
        if not sound.agrees:
            continue
        model = Exported(path, checkpoint, sound)
        for fault, maker in (*FAULTS.items(), *SOUND.items()):
            planted = maker(model)
            for weight_format in FORMATS if planted is not None else ():
                assert planted is not None
                account = _account(model, planted, weight_format)
                if account is None:
                    continue
                first = account.faults[0] if account.faults else None
                is_named = first is not None and first.category in planted.kinds
                is_named = is_named and bool({first.path, *first.tensors, *first.actual_tensors} & planted.places)
                case = f"{folder.name}/{path.stem} {weight_format} {sorted(planted.places)[:2]}"
                is_right = account.agrees if fault in SOUND else is_named
                yield Row(fault, is_right, f"{case}: {account.headline[:200]}")


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _account(model: Exported, planted: Planted, weight_format: str) -> WeightsDiff | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        shutil.copy(model.path, path)
        stored = bytearray(model.path.with_suffix(".bin").read_bytes())
        graph = read_model(str(model.path)).graph
        places = graph.node_paths()
        by_path = {name: node for node, name in places.items()}
        for name, array in planted.constants.items():
            op = by_path[name].op
            stored[op.offset : op.offset + op.size] = np.ascontiguousarray(array, np.float32).tobytes()
        path.with_suffix(".bin").write_bytes(stored)
        network = read_model(str(path))
        if weight_format != "f32":
            # NaN has no code.
            if weight_format == "int4" and any(np.isnan(array).any() for array in planted.constants.values()):
                return None
            try:
                group_size = 32 if weight_format == "int4" else None
                network, _ = compress_weights(network, Compression(weight_format, group_size, all_layers=True))
            except IRError:  # groups of 32 do not divide all channels
                network, _ = compress_weights(network, Compression(weight_format, -1, all_layers=True))
        extra = {name: MemoryTensor(name, array, "f32", array.nbytes) for name, array in planted.tensors.items()}
        checkpoint = replace(model.checkpoint, tensors={**model.checkpoint.tensors, **extra}, settings=planted.settings)
        return diff_weights(network, checkpoint)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
