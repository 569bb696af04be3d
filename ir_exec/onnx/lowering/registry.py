"""The registry of ONNX operators and the functions that lower them to operators of IR.

    @onnx_op("Gather", since=1)
    def gather(data: Value, indices: Value, *, axis: int = 0) -> Value:
        return build.gather(data, indices, axis)

The signature is the declaration: parameters are the inputs (optional with a default; `*inputs`: any number),
keyword-only parameters are the attributes of this version with their defaults. The annotation of an attribute is its
required type in a file. A keyword-only parameter `call: Call` is not an attribute: it is the context that a few
operators need in addition to inputs and attributes.

A look-up by (domain, type, opset) returns the newest version in the opset. A version that only accepts further element
types has no separate function.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "KINDS",
    "MICROSOFT",
    "ML",
    "NEWEST",
    "NEWEST_VERSIONS",
    "STANDARD",
    "TRAINING",
    "Attribute",
    "Version",
    "canonical_domain",
    "find",
    "is_own",
    "modules_of_users",
    "onnx_op",
    "register",
    "registered",
    "shown_domain",
    "unregister",
    "versions",
]

STANDARD = ""
ML = "ai.onnx.ml"
TRAINING = "ai.onnx.preview.training"
MICROSOFT = "com.microsoft"


NEWEST = 28
"""The newest version of the standard domain that the functions of `ir_exec.onnx.ops` support."""

NEWEST_VERSIONS: Mapping[str, int] = MappingProxyType({STANDARD: NEWEST, ML: 5, MICROSOFT: 1})
"""The versions of domains that a file uses without importing one, as in onnxruntime."""

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        STANDARD: (
            "control",
            "convolution",
            "elementwise",
            "experimental",
            "generation",
            "image",
            "matrix",
            "movement",
            "normalization",
            "pooling",
            "quantization",
            "recurrent",
            "reduction",
            "sequence",
            "shape",
            "signals",
            "sort",
            "strings",
            "type",
        ),
        ML: ("ml", "ml_linear", "ml_tree_ensemble", "ml_trees"),
        TRAINING: ("training",),
        MICROSOFT: (
            "microsoft",
            "microsoft_attention",
            "microsoft_blocks",
            "microsoft_cached_attention",
            "microsoft_delta",
            "microsoft_experts",
            "microsoft_layers",
            "microsoft_linear",
            "microsoft_quantized",
            "microsoft_tensors",
            "microsoft_weights",
            "strings",
        ),
    }
)
"""The modules of `ir_exec.onnx.ops` that register the operators of each domain."""

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "bool": "INT",
        "int": "INT",
        "float": "FLOAT",
        "str": "STRING",
        "Ints": "INTS",
        "Floats": "FLOATS",
        "Strings": "STRINGS",
        "Tensor": "TENSOR",
        "Body": "GRAPH",
        "Sparse": "SPARSE_TENSOR",
        "Type": "TYPE_PROTO",
    }
)
"""The type of AttributeProto for each annotation."""


class Attribute(NamedTuple):
    """An attribute of a version: `kind` is its type in a file, `default` is `inspect.Parameter.empty` if required."""

    name: str
    annotation: str
    kind: str
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty


class Version:
    """One version of an operator.

    Attributes:
        ignores_attributes: True if onnxruntime ignores attributes that the operator does not have.
    """

    def __init__(
        self,
        domain: str,
        name: str,
        since: int,
        function: Callable[..., Any],
        instead: str | None = None,
        *,
        ignores_attributes: bool = False,
    ) -> None:
        self.domain = domain
        self.name = name
        self.since = since
        self.function = function
        self.instead = instead
        self.ignores_attributes = ignores_attributes

    @cached_property
    def _parameters(self) -> list[inspect.Parameter]:
        # On first use of the version: reading a signature takes longer than registering the function.
        return list(inspect.signature(self.function).parameters.values())

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """The attributes by their names in files."""
        found = {}
        for parameter in self._parameters:
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != "call":
                annotation = _spelt(parameter.annotation).removesuffix(" | None")
                if annotation not in KINDS:
                    raise TypeError(f"{self}: attribute {parameter.name} has the unknown annotation {annotation}")
                name = parameter.name.rstrip("_")
                found[name] = Attribute(parameter.name, annotation, KINDS[annotation], parameter.default)
        return found

    @cached_property
    def wants_call(self) -> bool:
        return any(parameter.name == "call" for parameter in self._parameters)

    @cached_property
    def _inputs(self) -> list[tuple[str, str, bool]]:
        found = []
        for one in self._parameters:
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL):
                annotation = _spelt(one.annotation)
                kind = annotation.removesuffix(" | None")
                if kind not in ("Value", "Sequence", "GraphValue"):
                    raise TypeError(f"{self}: input {one.name} has the unknown annotation {annotation}")
                found.append((one.name, kind, kind != annotation or one.default is None))
        return found

    def check_signature(self) -> None:
        """Raise TypeError for annotations that are not valid for inputs or attributes."""
        if len(self._inputs) + len(self.attributes) + self.wants_call != len(self._parameters):
            raise TypeError(f"{self}: expected positional inputs and keyword-only attributes, without **")

    def input_kind(self, position: int) -> tuple[str, str, bool]:
        """The name of an input, its kind (`Value`, `Sequence` or either, `GraphValue`), and True if it is optional."""
        return self._inputs[min(position, len(self._inputs) - 1)]

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self._parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL))

    @cached_property
    def least_inputs(self) -> int:
        positional = [one for one in self._parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        return sum(one.default is one.empty for one in positional)

    @cached_property
    def most_inputs(self) -> int:
        variadic = any(one.kind is one.VAR_POSITIONAL for one in self._parameters)
        return sys.maxsize if variadic else sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in self._parameters)

    def __str__(self) -> str:
        prefix = f"{self.domain}:" if self.domain else ""
        return f"{prefix}{self.name}-{self.since}"


_SPELLINGS = {
    "BuiltValue": "Value",  # the class that `ir_exec.build` exports as Value
    "tuple[int, ...]": "Ints",
    "tuple[float, ...]": "Floats",
    "tuple[str, ...]": "Strings",
}


def _spelt(annotation: Any) -> str:
    """An annotation as spelled in the functions of `ir_exec.onnx.ops`, from a text, a class or a union."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    found = re.sub(r"(?:\w+\.)+(\w+)", r"\1", text)
    inner = found.removesuffix(" | None")
    return _SPELLINGS.get(inner, inner) + found[len(inner) :]


VERSIONS: dict[tuple[str, str], dict[int, Version]] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


def onnx_op(
    name: str,
    *,
    since: int,
    instead: str | None = None,
    domain: str = STANDARD,
    ignores_attributes: bool = False,
) -> Callable[[Function], Function]:
    """Register a function for an operator, starting at this version of its domain.

    Args:
        instead: The replacement in ONNX, for an experimental operator, or one whose deprecation text names none.
        ignores_attributes: True if onnxruntime ignores attributes that the operator does not have.

    Raises:
        TypeError: For a duplicate.
    """

    def decorate(function: Function) -> Function:
        known = VERSIONS.setdefault((domain, name), {})
        if since in known:
            other = known[since].function.__name__
            raise TypeError(f"{known[since]} is already registered as {other}; {function.__name__} cannot replace it")
        known[since] = Version(domain, name, since, function, instead, ignores_attributes=ignores_attributes)
        return function

    return decorate


def register(domain: str, name: str, since: int, function: Callable[..., Any]) -> None:
    """Register a function of a user for an operator of any domain.

    Raises:
        TypeError: If the operator has a function for this version, or any function of ir_exec, and for a signature that
            declares no inputs and attributes.
    """
    domain = canonical_domain(domain)
    known = versions(domain, name)
    if any(is_own(one) for one in known):
        raise TypeError(
            f"{shown_domain(domain)}:{name} is an operator of ir_exec, expected a name that is not registered"
        )
    version = Version(domain, name, since, function)
    version.check_signature()
    onnx_op(name, since=since, domain=domain)(function)


def unregister(domain: str, name: str) -> None:
    """Remove the functions of a user for an operator.

    Raises:
        KeyError: If no function of a user is registered.
    """
    domain = canonical_domain(domain)
    if not versions(domain, name) or any(is_own(one) for one in versions(domain, name)):
        raise KeyError(f"{shown_domain(domain)}:{name}")
    del VERSIONS[domain, name]


def modules_of_users() -> list[str]:
    """The modules with registered functions of users."""
    known = {one.function.__module__ for by_version in VERSIONS.values() for one in by_version.values()}
    return sorted(module for module in known if not module.startswith("ir_exec."))


def is_own(version: Version) -> bool:
    """Return True for a version that ir_exec itself registered."""
    return bool(version.function.__module__.startswith("ir_exec."))


def find(domain: str, name: str, opset: int) -> Version | None:
    """The newest version in this opset of the domain; None if no function lowers it.

    An operator that was removed or deprecated before this opset has the meaning of its last version.
    """
    domain = canonical_domain(domain)
    _import(domain)
    known = VERSIONS.get((domain, name), {})
    since = max((since for since in known if since <= opset), default=None)
    return None if since is None else known[since]


def versions(domain: str, name: str) -> list[Version]:
    """All versions of an operator, the oldest first."""
    domain = canonical_domain(domain)
    _import(domain)
    known = VERSIONS.get((domain, name), {})
    return [known[since] for since in sorted(known)]


def registered() -> list[Version]:
    """Every version of every operator, by domain and name."""
    for domain in FAMILIES:
        _import(domain)
    return [known[since] for _, known in sorted(VERSIONS.items()) for since in sorted(known)]


@cache
def _import(domain: str) -> None:
    for family in FAMILIES.get(domain, ()):
        import_module(f"ir_exec.onnx.ops.{family}")


def canonical_domain(domain: str) -> str:
    """The domain, with "" for both spellings of the standard domain."""
    return STANDARD if domain == "ai.onnx" else domain


def shown_domain(domain: str) -> str:
    """The name of the domain in messages."""
    return domain or "ai.onnx"
