"""Declarative patterns of nodes for fusions, and the reasons for mismatches.

A pattern describes the computation of a value. Python's operators combine patterns:

    x, weight = anything("x"), anything("weight")
    mean = op("ReduceMean", x * x | x**2, number("axis"))
    norm = x / op("Sqrt", mean + number("epsilon"))
    pattern = norm.perhaps(lambda value: value * weight)

`+` and `*` match their operands in either order, `|` tries alternatives from left to right, and a Python number matches
a known value of one element. A name that occurs twice matches one value. `where` adds a condition with its text, and
`perhaps` an optional step.

One step replaces all nodes of a match. `match` therefore requires that only the last node's output has other readers,
and that no input of the step is computed by one of the nodes. `explain` searches without these requirements, for
fusions of other runtimes, and follows every input to find the deepest mismatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import permutations
from math import isclose
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeAlias

from ir_exec.graph import Node, Value
from ir_exec.ops import Op
from ir_exec.plan.graph import PlanGraph
from ir_exec.types import Array, ElementType, TensorType

__all__ = [
    "Condition",
    "Match",
    "Mismatch",
    "NodePattern",
    "anything",
    "constant",
    "explain",
    "match",
    "near",
    "number",
    "one_of",
    "op",
]


class Match(NamedTuple):
    """The partial match of a pattern.

    Attributes:
        values: The values by their names in the pattern.
        nodes: The nodes, the last of the plan first.
        inputs: The named values that no node of the pattern computes.
    """

    graph: PlanGraph
    values: Mapping[str, Value] = MappingProxyType({})
    nodes: tuple[Node, ...] = ()
    inputs: tuple[Value, ...] = ()

    def type(self, name: str) -> TensorType:
        return self.graph.type(self.values[name])

    def known(self, name: str) -> Array:
        """The array of a value that is known before the run."""
        array = self.graph.known(self.values[name])
        assert array is not None, "the pattern matches known values only"
        return array

    def number(self, name: str) -> float:
        """The only element of a value that is known before the run."""
        return float(self.known(name).reshape(()))

    def node(self, value: Value) -> Node:
        """The node of the pattern that computes a value."""
        node = self.graph.producer(value)
        assert node is not None, "the pattern is the pattern of a node"
        return node

    def operator(self, value: Value) -> Any:
        """The operator that computes a value, whose attributes a condition reads."""
        return self.graph.operator(self.node(value))


class Mismatch(NamedTuple):
    """The reason for a mismatch.

    Attributes:
        node: One that matched, which is the wrong one or reads it.
        passed: All that matched.
        expected: The expected value.
        found: The actual value.
        hint: The advice of the failed pattern.
    """

    node: Node
    passed: tuple[Node, ...]
    expected: str
    found: str
    hint: str = ""


Condition: TypeAlias = Callable[[Match, Value], bool]
"""A test of a value in its match."""


class NodePattern:
    """A pattern of the nodes that compute a value.

    Attributes:
        expected: A description of the value, used in reasons.
        kinds: The kinds of nodes whose output may match; empty for patterns that match other values too.
        needs_known: Only values known before the run match.
        hint: An advice for a mismatch of this pattern.
    """

    expected: str
    kinds: frozenset[str] = frozenset()
    needs_known = False
    hint = ""

    def walk(self, search: _Search, value: Value, found: Match) -> Iterator[Match]:
        """Yield every match of the value that extends `found`."""
        raise NotImplementedError

    def may_match(self, graph: PlanGraph, value: Value) -> bool:
        """Return False if the kind of the value excludes a match."""
        if self.needs_known:
            return graph.known(value) is not None
        if not self.kinds:
            return True
        node = graph.producer(value)
        return node is not None and graph.kind(node) in self.kinds

    def named(self, name: str) -> NodePattern:
        """Return the pattern with a name for the value; further occurrences of the name match only this value."""
        return _Named(self, name)

    def where(self, expected: str, test: Condition, actual: Callable[[Match, Value], str] | None = None) -> NodePattern:
        """Return the pattern with a condition and its text.

        Args:
            actual: Describes a value that does not meet the condition; by default its layer and type.
        """
        return _Where(self, expected, test, actual)

    def with_hint(self, hint: str) -> Self:
        """Return the pattern with an advice for a mismatch at its own step."""
        pattern = copy(self)
        pattern.hint = hint
        return pattern

    def of_rank(self, name: str) -> NodePattern:
        """Return the pattern for as many axes as a named value: a known number may have more than the other operand."""

        def test(match: Match, value: Value) -> bool:
            rank = match.type(name).rank
            return rank is not None and rank == match.graph.type(value).rank

        return self.where(f"as many axes as {name}", test)

    def perhaps(self, step: Callable[[NodePattern], NodePattern]) -> NodePattern:
        """Return the pattern with one more optional step."""
        return step(self) | self

    def __or__(self, other: NodePattern) -> NodePattern:
        return _OneOf((*_alternatives(self), *_alternatives(other)))

    def __add__(self, other: NodePattern | float) -> NodePattern:
        return op("Add", self, other)

    def __mul__(self, other: NodePattern | float) -> NodePattern:
        return op("Multiply", self, other)

    def __sub__(self, other: NodePattern | float) -> NodePattern:
        return op("Subtract", self, other)

    def __truediv__(self, other: NodePattern | float) -> NodePattern:
        return op("Divide", self, other)

    def __pow__(self, other: NodePattern | float) -> NodePattern:
        return op("Power", self, other)

    def __radd__(self, other: float) -> NodePattern:
        return op("Add", self, other)

    def __rmul__(self, other: float) -> NodePattern:
        return op("Multiply", self, other)

    def __rsub__(self, other: float) -> NodePattern:
        return op("Subtract", other, self)

    def __rtruediv__(self, other: float) -> NodePattern:
        return op("Divide", other, self)


def anything(name: str | None = None, *, types: frozenset[ElementType] | None = None) -> NodePattern:
    """Any value; types: of elements that it may have."""
    found: NodePattern = _Anything()
    if types is not None:
        names = " or ".join(sorted(type.name for type in types))
        found = found.where(f"a value of {names}", lambda match, value: match.graph.type(value).element_type in types)
    return found if name is None else found.named(name)


def constant(name: str) -> NodePattern:
    """A value that is known before the run."""
    return _Known("a value that is known before the run", lambda array: True).named(name)


def number(name: str) -> NodePattern:
    """A value of one element that is known before the run."""
    return _Known("one known number", lambda array: array.size == 1).named(name)


def near(expected: float) -> NodePattern:
    """A number with the seven digits stored in files."""

    def test(array: Array) -> bool:
        return array.size == 1 and isclose(float(array.reshape(())), expected, rel_tol=1e-6)

    return _Known(f"the number {expected:.7g}", test)


def one_of(*patterns: NodePattern) -> NodePattern:
    """The first of several patterns that matches."""
    return _OneOf(tuple(alternative for pattern in patterns for alternative in _alternatives(pattern)))


_COMMUTATIVE = frozenset({"Add", "Multiply", "Maximum", "Minimum", "SquaredDifference"})


def op(kinds: str | type[Op], *inputs: NodePattern | float, more_inputs: bool = False) -> NodePattern:
    """The output of an operator of this library.

    Args:
        kinds: Its type, `A|B` for one of two, or the class of an operator of a plan.
        *inputs: All of its inputs; without patterns any inputs match.
        more_inputs: Further inputs match any value.
    """
    names = kinds.split("|") if isinstance(kinds, str) else [PlanGraph.plan_kind(kinds)]
    patterns = tuple(input if isinstance(input, NodePattern) else _exactly(input) for input in inputs)
    return _NodeOf(frozenset(names), patterns, _COMMUTATIVE.issuperset(names), more_inputs)


def _exactly(expected: float) -> NodePattern:
    return _Known(f"the number {expected:g}", lambda array: array.size == 1 and float(array.reshape(())) == expected)


def _alternatives(pattern: NodePattern) -> tuple[NodePattern, ...]:
    return pattern.patterns if isinstance(pattern, _OneOf) else (pattern,)


class _Anything(NodePattern):
    expected = "any value"

    def walk(self, search: _Search, value: Value, found: Match) -> Iterator[Match]:
        yield found


class _Known(NodePattern):
    """A value that is known before the run, with a matching array."""

    needs_known = True

    def __init__(self, expected: str, test: Callable[[Array], bool]) -> None:
        self.expected = expected
        self._test = test

    def walk(self, search: _Search, value: Value, found: Match) -> Iterator[Match]:
        array = search.graph.known(value)
        if array is not None and self._test(array):
            yield found
        else:
            search.miss(found, value, self.expected, hint=self.hint)


class _WrappedPattern(NodePattern):
    """A pattern with an addition."""

    def __init__(self, pattern: NodePattern) -> None:
        self.pattern = pattern
        self.expected = pattern.expected
        self.kinds = pattern.kinds
        self.needs_known = pattern.needs_known


class _Named(_WrappedPattern):
    def __init__(self, pattern: NodePattern, name: str) -> None:
        super().__init__(pattern)
        self.name = name

    def with_hint(self, hint: str) -> Self:
        pattern = super().with_hint(hint)
        pattern.pattern = self.pattern.with_hint(hint)  # a name adds no condition of its own
        return pattern

    def walk(self, search: _Search, value: Value, found: Match) -> Iterator[Match]:
        known = found.values.get(self.name)
        if known is not None:
            if known is value:
                yield found
            else:
                search.miss(found, value, f'"{known.name}" again, which is {self.name}', hint=self.hint)
            return
        for one in self.pattern.walk(search, value, found):
            inputs = one.inputs if self.kinds else (*one.inputs, value)
            yield one._replace(values={**one.values, self.name: value}, inputs=inputs)


class _Where(_WrappedPattern):
    def __init__(
        self,
        pattern: NodePattern,
        condition: str,
        test: Condition,
        describe: Callable[[Match, Value], str] | None = None,
    ) -> None:
        super().__init__(pattern)
        self._condition = condition
        self._test = test
        self._describe = describe

    def walk(self, search: _Search, value: Value, found: Match) -> Iterator[Match]:
        for one in self.pattern.walk(search, value, found):
            if self._test(one, value):
                yield one
            else:
                actual = None if self._describe is None else self._describe(one, value)
                search.miss(one, value, self._condition, hint=self.hint, actual=actual)


class _OneOf(NodePattern):
    def __init__(self, patterns: tuple[NodePattern, ...]) -> None:
        self.patterns = patterns
        self.expected = " or ".join(dict.fromkeys(pattern.expected for pattern in patterns))
        kinds = [pattern.kinds for pattern in patterns]
        self.kinds = frozenset().union(*kinds) if all(kinds) else frozenset()
        self.needs_known = all(pattern.needs_known for pattern in patterns)

    def walk(self, search: _Search, value: Value, found: Match) -> Iterator[Match]:
        for pattern in self.patterns:
            yield from pattern.walk(search, value, found)


class _NodeOf(NodePattern):
    def __init__(
        self, kinds: frozenset[str], inputs: tuple[NodePattern, ...], is_commutative: bool, more_inputs: bool
    ) -> None:
        self.kinds = kinds
        self.expected = " or ".join(sorted(kinds))
        self._inputs = inputs
        self._is_commutative = is_commutative
        self._more_inputs = more_inputs

    def walk(self, search: _Search, value: Value, found: Match) -> Iterator[Match]:
        graph = search.graph
        node = graph.producer(value)
        if node is None or graph.kind(node) not in self.kinds:
            search.miss(found, value, self.expected, hint=self.hint)
            return
        if node not in found.nodes:
            found = found._replace(nodes=(*found.nodes, node))
        values = node.values_in[: len(self._inputs)] if self._more_inputs else node.values_in
        if not self._inputs:
            yield found
        elif len(values) != len(self._inputs):
            search.miss(found, value, f"{self.expected} of {len(self._inputs)} inputs", hint=self.hint)
        else:
            for ordered in permutations(values) if self._is_commutative else [values]:
                if search.follows_all_inputs or self._may_read(search, ordered, found):
                    yield from self._read(search, ordered, 0, found)

    def _may_read(self, search: _Search, given: Sequence[Value], found: Match) -> bool:
        """Return False if one of the inputs is of another kind, for any others."""
        for pattern, value in zip(self._inputs, given, strict=True):
            if not pattern.may_match(search.graph, value):
                search.miss(found, value, pattern.expected, hint=pattern.hint)
                return False
        return True

    def _read(self, search: _Search, given: Sequence[Value], place: int, found: Match) -> Iterator[Match]:
        if place == len(given):
            yield found
            return
        for one in self._inputs[place].walk(search, given[place], found):
            yield from self._read(search, given, place + 1, one)


class _Search:
    """A search for one match, which records its progress.

    Attributes:
        follows_all_inputs: The inputs before one that cannot match are followed, for the deepest mismatch.
    """

    def __init__(self, graph: PlanGraph, *, follows_all_inputs: bool = False) -> None:
        self.graph = graph
        self.follows_all_inputs = follows_all_inputs
        self._passed: tuple[Node, ...] = ()
        self._value: Value | None = None
        self._expected: list[str] = []
        self._seen: str | None = None
        self._hints: list[str] = []
        self._actual: str | None = None

    def miss(
        self,
        found: Match,
        value: Value,
        expected: str,
        seen: str | None = None,
        *,
        hint: str = "",
        actual: str | None = None,
    ) -> None:
        """Record the expectation for a value. The record with the most matched nodes becomes the reason.

        Args:
            seen: The reader of the value, if all nodes match; such a record takes precedence.
            actual: The description of the value; by default its layer and type.
        """
        is_whole = seen is not None and self._seen is None
        if len(found.nodes) > len(self._passed) or (is_whole and len(found.nodes) == len(self._passed)):
            self._passed, self._value, self._expected, self._seen = found.nodes, value, [expected], seen
            self._hints, self._actual = [hint], actual
        elif value is self._value and self._seen is None and len(found.nodes) == len(self._passed):
            self._expected.append(expected)
            self._hints.append(hint)

    def is_closed(self, found: Match) -> bool:
        """Return True if only the nodes of a match read their outputs, and its inputs are computed by others."""
        for node in found.nodes[1:]:
            for value in node.outputs:
                reader = self.graph.reader_besides(value, found.nodes)
                if reader is not None:
                    self.miss(found, value, "no other reader", reader)
                    return False
        for value in found.inputs:
            if self.graph.producer(value) in found.nodes:
                self.miss(found, value, "an input that no layer of the pattern computes", "an output of one")
                return False
        return True

    def reason(self) -> Mismatch | None:
        """The reason for the mismatch; None if not even the first node matched."""
        if self._value is None:
            return None
        node = self.graph.producer(self._value)
        if node is None or node not in self._passed:
            node = next(one for one in reversed(self._passed) if self._value in one.values_in)
        expected = " or ".join(dict.fromkeys(self._expected))
        hint = next(filter(None, self._hints), "")
        actual = self._seen or self._actual or self.graph.described(self._value)
        return Mismatch(node, self._passed, expected, actual, hint)


def match(pattern: NodePattern, graph: PlanGraph, node: Node) -> Match | Mismatch | None:
    """The first match that ends in a node; a reason if its first nodes match, and None if none does."""
    search = _Search(graph)
    for found in pattern.walk(search, node.outputs[0], Match(graph)):
        if search.is_closed(found):
            return found
    return search.reason()


def explain(pattern: NodePattern, graph: PlanGraph, node: Node, output: int = 0) -> Match | Mismatch | None:
    """The first match that ends in an output of a node, whose other nodes may have further readers.

    Returns:
        A reason if its first nodes match, the deepest of all; None if none does.
    """
    search = _Search(graph, follows_all_inputs=True)
    return next(pattern.walk(search, node.outputs[output], Match(graph)), None) or search.reason()
