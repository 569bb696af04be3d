"""GatherTree: the beams of a beam search."""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.kernels.gather import take_along_axis
from ir_exec.kernels.indices import lie_within
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.inputs import AxisIndices, Lengths
from ir_exec.ops.base.shapes import merge_dims, merge_shapes, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import NUMERIC, Array, ElementType, Shape, TensorType, element_types

__all__ = ["GatherTree"]

_IDS = NUMERIC - element_types("u1 u3 u6 nf4")


@op("GatherTree", since=1)
class GatherTree(Op):
    """The complete beams of a beam search, from the token and the parent beam of every step.

    All inputs have one element type.

    A beam is followed back from the last step of its sequence; after its first end_token it holds only end_token. A
    sequence of no steps is all end_token, where OpenVINO's CPU plugin leaves the output unchanged.

    Specification: movement/gather-tree-1.

    Inputs:
        step_ids: Integer values of any numeric type except u1, u3, u6 and nf4, shape [MAX_TIME, BATCH_SIZE,
            BEAM_WIDTH].
        parent_ids: Like `step_ids`.
        max_seq_len: Shape [BATCH_SIZE].
        end_token: A scalar.

    Outputs:
        output: Like step_ids.

    Raises:
        IRError: IR701 for a parent that is not a beam, if it is followed.
    """

    inputs = (
        In("step_ids", types=_IDS),
        In("parent_ids", types=_IDS, like="step_ids", domain=AxisIndices(2)),
        In("max_seq_len", types=_IDS, like="step_ids", domain=Lengths("step_ids", 0)),
        In("end_token", types=_IDS, like="step_ids"),
    )
    moved_inputs = ("step_ids", "end_token")
    is_discontinuous = True

    def infer(
        self, step_ids: TensorType, parent_ids: TensorType, max_seq_len: TensorType, end_token: TensorType
    ) -> TensorType:
        require_rank(step_ids, 3, "step_ids")
        require_rank(parent_ids, 3, "parent_ids")
        require_rank(max_seq_len, 1, "max_seq_len")
        require_rank(end_token, 0, "end_token")
        shape = merge_shapes(
            step_ids.shape, parent_ids.shape, "the shapes of step_ids and parent_ids", port="parent_ids"
        )
        if shape.dims is not None and max_seq_len.shape.dims is not None:
            what = "axis 1 of step_ids and axis 0 of max_seq_len"
            batch = merge_dims(shape[1], max_seq_len.shape[0], what, port="max_seq_len")
            shape = Shape([shape[0], batch, shape[2]])
        kinds = (tensor.element_type for tensor in (step_ids, parent_ids, max_seq_len, end_token))
        element_type = next((element_type for element_type in kinds if element_type.is_known), ElementType.dynamic)
        return TensorType(element_type, shape)

    def evaluate(self, step_ids: Array, parent_ids: Array, max_seq_len: Array, end_token: Array) -> Array:
        steps, batch, beams = step_ids.shape
        some = max(1, thresholds.CHUNK_ELEMENTS // max(steps * beams, 1))
        if batch <= some:
            return self._follow(step_ids, parent_ids, max_seq_len, end_token, 0)
        output = np.empty(step_ids.shape, step_ids.dtype)
        for first in range(0, batch, some):
            part = slice(first, first + some)
            output[:, part] = self._follow(step_ids[:, part], parent_ids[:, part], max_seq_len[part], end_token, first)
        return output

    def _follow(
        self, step_ids: Array, parent_ids: Array, max_seq_len: Array, end_token: Array, first_batch: int
    ) -> Array:
        steps, batch, beams = step_ids.shape
        inside = np.arange(steps)[:, np.newaxis] < _whole_numbers(max_seq_len, most=steps)
        parents = _whole_numbers(parent_ids, most=beams)
        sound = lie_within(parents, beams)
        followed = parents if sound else np.clip(parents, 0, beams - 1)
        outside = None if inside.all() else ~inside[:, :, np.newaxis]
        if outside is not None:
            # After the end of its sequence every beam continues from itself.
            np.copyto(followed, np.arange(beams), where=outside)
        followed = (followed + np.arange(batch)[:, np.newaxis] * beams).reshape(steps, batch * beams)
        # lanes[t, b * beams + w] is the position in step t of the beam that ends as beam w of its batch.
        lanes = np.empty((steps, batch * beams), np.int64)
        lanes[-1:] = np.arange(batch * beams)
        steps_back = list(lanes[::-1])
        for hop, later, earlier in zip(followed[:0:-1], steps_back, steps_back[1:], strict=False):
            hop.take(later, 0, earlier, "clip")
        if not sound:
            _check_followed(parent_ids, parents, inside, lanes, first_batch)
        output = take_along_axis(step_ids.reshape(lanes.shape), lanes, 1).reshape(step_ids.shape)
        if outside is not None:
            np.copyto(output, end_token, where=outside)
        ended = output == end_token
        if ended.any():
            reach = 1
            while reach < steps:
                # Beams that ended up to `reach` steps ago; an accumulation along the first axis is much slower.
                ended[reach:] |= ended[:-reach].copy()
                reach *= 2
            np.copyto(output, end_token, where=ended)
        return output


def _whole_numbers(values: Array, *, most: int) -> Array:
    """Values of any numeric type as i64, clipped to -1 .. `most`."""
    values = values if values.dtype.isbuiltin == 1 else values.astype(np.float32)
    if values.size and values.min() >= 0 and values.max() <= most:
        return values.astype(np.int64)
    if values.dtype.kind == "u":
        return np.minimum(values, np.uint64(most)).astype(np.int64)
    if values.dtype.kind == "i":
        return np.clip(values.astype(np.int64), -1, most)
    # NaN is not an index; it becomes -1.
    return np.clip(np.nan_to_num(values.astype(np.float64), nan=-1.0), -1, most).astype(np.int64)


def _check_followed(parent_ids: Array, parents: Array, inside: Array, lanes: Array, first_batch: int) -> None:
    """Raise for the last step with a parent that is not a beam, if the parent is followed.

    Args:
        first_batch: The number of the first of these batches.
    """
    _, batch, beams = parents.shape
    followed = np.take_along_axis(parents.reshape(lanes.shape), lanes, 1).reshape(parents.shape)
    wrong = ((followed < 0) | (followed >= beams)) & inside[:, :, np.newaxis]
    wrong[0] = False
    if wrong.any():
        time = int(np.flatnonzero(wrong.any(axis=(1, 2)))[-1])
        which, beam = np.unravel_index(int(np.argmax(wrong[time])), wrong[time].shape)
        parent = parent_ids[time].reshape(batch * beams)[lanes[time, which * beams + beam]]
        raise EvaluationError(
            f"step {time} of batch {first_batch + which} has the parent",
            actual=parent,
            expected=f"a beam from 0 to {beams - 1}",
            code=Code.index_out_of_range,
            port="parent_ids",
        )
