"""Facts about the way of elements from the inputs of an operator to its outputs; generated inputs follow from them.

They are declared in the class of the operator, and have safe defaults: nothing is known about the elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ir_exec.ops.base.facts import DeclaredInputs
from ir_exec.types import FLOAT, TensorType

__all__ = ["ElementFacts"]


class ElementFacts(DeclaredInputs):
    """The base of `Op` that declares the way of elements from the inputs to the outputs.

    Attributes:
        is_elementwise: An element of the output depends only on the elements at its position of the inputs, which are
            broadcast together.
        moved_inputs: Inputs whose elements are the elements of the outputs, also if operators select or blend them, as
            an average does. If an operator declares none, they are all inputs of `is_data_movement` that may be floats.
        changes_order: The output has the elements of the first input in another order; see `preserves_order`.
        is_distribution: The elements of the output along an axis are probabilities, or their logarithms.
        arranging_inputs: Inputs of axes or positions, which arrange or select elements, and must suit the shapes of
            other inputs. `sized_by` has the inputs of sizes.
        neutral: The value of the second of two inputs for which the output is the first one.
        absorbing: The value of either of two inputs for which the output is this value.
        is_idempotent: The output of two equal inputs is this input.
        is_cumulative: Sums of all elements up to each position along an axis.
        is_progression: The elements of the output ascend or descend by a constant step.
    """

    is_elementwise: ClassVar[bool] = False
    moved_inputs: ClassVar[tuple[str, ...]] = ()
    changes_order: ClassVar[bool] = False
    is_distribution: ClassVar[bool] = False
    arranging_inputs: ClassVar[tuple[str, ...]] = ()
    neutral: ClassVar[float | None] = None
    absorbing: ClassVar[float | None] = None
    is_idempotent: ClassVar[bool] = False
    is_cumulative: ClassVar[bool] = False
    is_progression: ClassVar[bool] = False

    is_data_movement: ClassVar[bool] = False

    @classmethod
    def reads_elements(cls, position: int) -> bool:
        """Return True unless only the type or the shape of an input matters."""
        if not cls.inputs:
            return True
        declared = cls.declared_input(position)
        return not (declared.only_type or declared.only_shape)

    def moves_input(self, position: int) -> bool:
        """Return True if elements of an input are the elements of the outputs; see `moved_inputs`."""
        declared = self.declared_input(position)
        if self.moved_inputs:
            return declared.name in self.moved_inputs
        return self.is_data_movement and self.reads_elements(position) and bool(declared.types & FLOAT)

    def channel_axis(self, position: int, rank: int) -> int | None:
        """The axis of an input along which products with weights, the other input, are summed; None without one.

        Args:
            rank: The rank of the input.
        """
        return None

    def equal_sizes(self, *types: TensorType) -> Iterator[tuple[int, int]]:
        """Pairs of sizes that `infer` requires to be equal, for a search of sizes that it accepts.

        By default they are the sizes of all inputs that are read, aligned at the last axis, except for sizes of 1.

        Args:
            types: The types of all inputs, whose sizes `infer` may reject.

        Raises:
            ValueError: If a size is dynamic.
            IndexError: If a rank is too small.
        """
        read = [input_type for position, input_type in enumerate(types) if self.reads_elements(position)]
        first, *others = [input_type.shape.static[::-1] for input_type in read]
        for sizes in others:
            yield from [pair for pair in zip(first, sizes, strict=False) if 1 not in pair]
