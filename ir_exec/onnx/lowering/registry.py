"""The registry of ONNX operators and the functions that lower them to operators of IR.

    @onnx_op("ScatterND", since=(11, 16))
    def scatter_nd(data: Value, indices: Value, updates: Value, *, reduction: str) -> Value:
        return build.scatter_nd_update(data, indices, updates, reduction=...)

A function implements one or more versions of an operator. Its positional parameters are the inputs in ONNX's order
(`Value | None`: optional; `*inputs`: any number), its keyword-only parameters the attributes by their names, with a
trailing underscore if an input has the same name. The annotation is the type of the value in Python. Names, order and
defaults are stored in `signatures.json` for each version: a missing optional attribute arrives as its default, or as
None (`int | None`), an empty tuple (`Ints`) or False if it has none. A parameter has a default where that is none of
these. Two keyword-only parameters are not attributes: `since` is the version, and `call: Call` the
context that a few operators need.

For operators that are not stored, those of users and experimental ones, the parameters and their defaults are the
signature. A look-up by (domain, type, opset) returns the newest version in the opset. A version that only accepts
further element types is not registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeVar

from ir_exec.onnx.lowering.versions import Version

__all__ = [
    "MICROSOFT",
    "ML",
    "NEWEST",
    "NEWEST_VERSIONS",
    "STANDARD",
    "TRAINING",
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

VERSIONS: dict[tuple[str, str], dict[int, Version]] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


def onnx_op(
    name: str,
    *,
    since: int | tuple[int, ...],
    instead: str | None = None,
    domain: str = STANDARD,
    unused: tuple[str, ...] = (),
    ignores_attributes: bool = False,
) -> Callable[[Function], Function]:
    """Register a function for an operator, starting at these versions of its domain.

    Args:
        since: The versions with a different signature or meaning.
        instead: The replacement in ONNX, for an experimental operator, or one whose deprecation text names none.
        unused: The attributes without effect on outputs, which the function does not take.
        ignores_attributes: True if onnxruntime ignores attributes that the operator does not have.

    Raises:
        TypeError: For a duplicate.
    """

    def decorate(function: Function) -> Function:
        for version in (since,) if isinstance(since, int) else since:
            _add(
                Version(domain, name, version, function, instead, unused=unused, ignores_attributes=ignores_attributes)
            )
        return function

    return decorate


def _add(version: Version) -> None:
    """Add a version to the registry; TypeError for a duplicate."""
    registered_versions = VERSIONS.setdefault((version.domain, version.name), {})
    if version.since in registered_versions:
        previous, function = registered_versions[version.since], version.function.__name__
        raise TypeError(
            f"{previous} is already registered as {previous.function.__name__}; {function} cannot replace it"
        )
    registered_versions[version.since] = version


def register(domain: str, name: str, since: int, function: Callable[..., Any]) -> None:
    """Register a function of a user for an operator of any domain.

    Raises:
        TypeError: If the operator has a function for this version, or any function of ir_exec, and for a signature that
            declares no inputs and attributes.
    """
    domain = canonical_domain(domain)
    existing = versions(domain, name)
    if any(is_own(version) for version in existing):
        raise TypeError(
            f"{shown_domain(domain)}:{name} is an operator of ir_exec, expected a name that is not registered"
        )
    version = Version(domain, name, since, function, declares_signature=True)
    version.check_signature()
    _add(version)


def unregister(domain: str, name: str) -> None:
    """Remove the functions of a user for an operator.

    Raises:
        KeyError: If no function of a user is registered.
    """
    domain = canonical_domain(domain)
    if not versions(domain, name) or any(is_own(version) for version in versions(domain, name)):
        raise KeyError(f"{shown_domain(domain)}:{name}")
    del VERSIONS[domain, name]


def modules_of_users() -> list[str]:
    """The modules with registered functions of users."""
    modules = {version.function.__module__ for by_version in VERSIONS.values() for version in by_version.values()}
    return sorted(module for module in modules if not module.startswith("ir_exec."))


def is_own(version: Version) -> bool:
    """Return True for a version that ir_exec itself registered."""
    return bool(version.function.__module__.startswith("ir_exec."))


def find(domain: str, name: str, opset: int) -> Version | None:
    """The newest version in this opset of the domain; None if no function lowers it.

    An operator that was removed or deprecated before this opset has the meaning of its last version.
    """
    domain = canonical_domain(domain)
    _import(domain)
    by_version = VERSIONS.get((domain, name), {})
    since = max((since for since in by_version if since <= opset), default=None)
    return None if since is None else by_version[since]


def versions(domain: str, name: str) -> list[Version]:
    """All versions of an operator, the oldest first."""
    domain = canonical_domain(domain)
    _import(domain)
    by_version = VERSIONS.get((domain, name), {})
    return [by_version[since] for since in sorted(by_version)]


def registered() -> list[Version]:
    """Every version of every operator, by domain and name."""
    for domain in FAMILIES:
        _import(domain)
    return [by_version[since] for _, by_version in sorted(VERSIONS.items()) for since in sorted(by_version)]


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
