"""Facts about the place of an operator in files and graphs: its notation in files, its versions, and its sizes.

They are declared in the class of the operator, like `NumericFacts`, and have safe defaults: an operator without them
has no older equivalent, no peculiarities in files, and outputs whose sizes follow from the shapes of its inputs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["GraphFacts", "OlderVersion"]


@dataclass(frozen=True)
class OlderVersion:
    """The next older version of an operator, if it has the same meaning for some attributes and inputs.

    Attributes:
        since: The opset that introduced it.
        without: The attributes that it lacks, each with the values that have no effect.
        refused: Values of its other attributes that it does not accept.
        nonnegative: Inputs for which it accepts only numbers of 0 or more, which therefore must be known.
        inputs: The number of its inputs, if there are fewer.
        separated: An input that it has as two, for sizes and for scales, of which `shape_calculation_mode` selects the
            one that it reads. The other one has as many elements, whose number therefore must be known.
    """

    since: int
    without: tuple[tuple[str, Collection[object]], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    nonnegative: tuple[str, ...] = ()
    inputs: int | None = None
    separated: str = ""


class GraphFacts:
    """The base of `Op` that declares facts about files and graphs.

    Attributes:
        older: The older version that may replace this one; None if no older version has the same meaning.
        redundant_attributes: Attributes, separated by spaces, that older converters wrote for this type and its family,
            whether or not the operator has them. One message reports those that it does not have.
        declared_as_f32: Outputs that converters and quantizers declare as f32 for any element type.
        sized_by: Inputs whose elements determine the sizes of the outputs, which may exceed all sizes of the inputs.
            `arranging_inputs` has those that only arrange or select elements.
        preserves_order: The only output has the elements of the first input in their order, in another shape or element
            type.
    """

    older: ClassVar[OlderVersion | None] = None
    redundant_attributes: ClassVar[str] = ""
    declared_as_f32: ClassVar[tuple[str, ...]] = ()
    sized_by: ClassVar[tuple[str, ...]] = ()
    preserves_order: ClassVar[bool] = False

    def weight_axes(self, position: int, rank: int) -> tuple[int, ...] | None:
        """The axes of a matrix or of filters along which products are summed; None for other inputs.

        Weights that are compressed by channels have one scale for all elements along these axes.

        Args:
            position: The position of the input.
            rank: The rank of the input.
        """
        return None
