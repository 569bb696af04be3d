"""Convolutions, pooling, products and resampling."""

from __future__ import annotations

from itertools import product

import numpy as np

from ir_exec.types import Array
from tests.older.cases_by_family.single import Case, X, case, convolve, image, pool, single_layer

W = image(3, 4, 3, 2, seed=1)


B = image(3, seed=2)


@case
def convolution_with_kernel_lists() -> Case:
    expected = convolve(X, W, (2, 1), (1, 0), (1, 1)) + B[:, None, None]
    told = {"kernel": (3, 2), "strides": (2, 1), "pads_begin": (1, 0), "pads_end": (1, 1), "output": 3, "group": 1}
    return single_layer("Convolution", [X], expected, told, {"weights": W, "biases": B})


@case
def convolution_with_kernel_x_and_y() -> Case:
    expected = convolve(X, W, (2, 1), (1, 0), (1, 0)) + B[:, None, None]
    told = {"kernel-x": 2, "kernel-y": 3, "stride-x": 1, "stride-y": 2, "pad-x": 0, "pad-y": 1, "output": 3}
    blobs = {"weights": W, "biases": B}
    return single_layer("Convolution", [X], expected, told, blobs, version=2, element="convolution_data")


@case
def convolution_with_right_and_bottom_pads() -> Case:
    told = {"kernel-x": 2, "kernel-y": 3, "pad-x": 0, "pad-y": 0, "pad-r": 1, "pad-b": 2, "output": 3, "group": 1}
    return single_layer("Convolution", [X], convolve(X, W, (1, 1), (0, 0), (2, 1)), told, {"weights": W}, version=2)


@case
def convolution_in_groups_with_dilation() -> Case:
    w = image(6, 2, 2, 2, seed=3)
    parts = [
        convolve(X[:, :2], w[:3], (1, 1), (0, 0), (0, 0), 2),
        convolve(X[:, 2:], w[3:], (1, 1), (0, 0), (0, 0), 2),
    ]
    told = {"kernel": (2, 2), "dilations": (2, 2), "output": 6, "group": 2}
    return single_layer("Convolution", [X], np.concatenate(parts, 1), told, {"weights": w})


@case
def convolution_with_auto_pad() -> Case:
    w = image(3, 4, 2, 2, seed=3)
    told = {"kernel": (2, 2), "output": 3, "auto_pad": "same_upper", "pads_begin": (0, 0), "pads_end": (0, 0)}
    return single_layer("Convolution", [X], convolve(X, w, (1, 1), (0, 0), (1, 1)), told, {"weights": w}, version=7)


@case
def convolution_whose_end_pads_follow_from_the_declared_output() -> Case:
    # With a stride of 2 the last row of the pads is not reached, so that both pads give this output.
    w = image(3, 4, 2, 2, seed=3)
    told = {"kernel-x": 2, "kernel-y": 2, "stride-x": 2, "stride-y": 2, "pad-x": 1, "pad-y": 1, "output": 3}
    return single_layer(
        "Convolution", [X], convolve(X, w, (2, 2), (1, 1), (1, 1))[:, :, :3, :4], told, {"weights": w}, version=3
    )


@case
def deconvolution() -> Case:
    w = image(4, 3, 2, 2, seed=3)
    full = np.zeros((1, 3, 10, 12), np.float32)
    for i, j in product(range(5), range(6)):
        full[:, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2] += np.einsum("nc,cohw->nohw", X[:, :, i, j], w)
    told = {"kernel": (2, 2), "strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1), "output": 3, "group": 1}
    return single_layer("Deconvolution", [X], full[:, :, 1:-1, 1:-1], told, {"weights": w})


@case
def deconvolution_in_groups() -> Case:
    w = image(4, 1, 2, 2, seed=3)
    full = np.zeros((1, 4, 6, 7), np.float32)
    for i, j in product(range(5), range(6)):
        full[:, :, i : i + 2, j : j + 2] += X[:, :, i, j, None, None] * w[:, 0]
    told = {"kernel-x": 2, "kernel-y": 2, "output": 4, "group": 4}
    return single_layer("Deconvolution", [X], full, told, {"weights": w}, version=2)


@case
def pooling_rounds_up_as_caffe_does() -> Case:
    told = {"kernel": (3, 3), "strides": (2, 2), "pool-method": "max", "rounding_type": "ceil"}
    return single_layer("Pooling", [X], pool(X, 3, 2, 0, (2, 3), "max"), told, version=4)


@case
def pooling_rounds_up_where_the_file_has_no_rounding() -> Case:
    told = {"kernel-x": 3, "kernel-y": 3, "stride-x": 2, "stride-y": 2, "pad-x": 0, "pad-y": 0, "pool-method": "max"}
    return single_layer("Pooling", [X], pool(X, 3, 2, 0, (2, 3), "max"), told, version=2, element="pooling_data")


@case
def pooling_rounds_down_where_only_that_gives_the_declared_output() -> Case:
    told = {"kernel-x": 3, "kernel-y": 3, "stride-x": 2, "stride-y": 2, "pool-method": "max"}
    return single_layer("Pooling", [X], pool(X, 3, 2, 0, (2, 2), "max"), told, version=2)


@case
def pooling_leaves_out_a_window_that_begins_past_the_input() -> Case:
    x = image(1, 2, 4, 6)
    told = {"kernel": (1, 1), "strides": (2, 2), "pool-method": "max", "rounding_type": "ceil"}
    return single_layer("Pooling", [x], x[:, :, ::2, ::2], told)


@case
def pooling_leaves_out_a_window_along_one_axis() -> Case:
    x = image(1, 2, 4, 6)
    told = {"kernel": (1, 2), "strides": (2, 3), "pool-method": "max", "rounding_type": "ceil"}
    expected = np.maximum(x[:, :, ::2, ::3], x[:, :, ::2, 1::3])
    return single_layer("Pooling", [x], expected, told | {"kernel": (1, 2)})


@case
def pooling_means_without_pads() -> Case:
    told = {"kernel": (3, 3), "strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1), "pool-method": "avg"}
    told |= {"exclude-pad": "true", "rounding_type": "floor"}
    return single_layer("Pooling", [X], pool(X, 3, 2, 1, (3, 3), "exclude"), told)


@case
def pooling_means_with_pads() -> Case:
    told = {"kernel": (3, 3), "strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1), "pool-method": "avg"}
    told |= {"exclude-pad": "false", "rounding_type": "floor"}
    return single_layer("Pooling", [X], pool(X, 3, 2, 1, (3, 3), "include"), told)


@case
def pooling_in_the_spelling_of_caffe() -> Case:
    told = {"kernel_size": 2, "stride": 2, "pool": "caffe.PoolingParameter.MAX"}
    return single_layer("Pooling", [X], pool(X, 2, 2, 0, (3, 3), "max"), told, version=2)


@case
def pooling_with_auto_pad() -> Case:
    told = {"kernel": (1, 1), "strides": (2, 2), "pool-method": "max", "auto_pad": "same_upper"}
    x = image(1, 2, 4, 6)
    return single_layer("Pooling", [x], x[:, :, ::2, ::2], told)


@case
def fully_connected_flattens() -> Case:
    w, b = image(7, 120, seed=1), image(7, seed=2)
    return single_layer("FullyConnected", [X], X.reshape(1, -1) @ w.T + b, {"out-size": 7}, {"weights": w, "biases": b})


@case
def fully_connected_of_the_oldest_files() -> Case:
    w = image(7, 120, seed=1)
    return single_layer(
        "InnerProduct", [X], X.reshape(1, -1) @ w.T, {"out-size": 7}, {"weights": w}, version=2, element="fc_data"
    )


@case
def fully_connected_of_sequences() -> Case:
    x, w = image(2, 3, 4), image(5, 4, seed=1)
    return single_layer("FullyConnected", [x], x @ w.T, {"out-size": 5}, {"weights": w})


@case
def gemm() -> Case:
    a, b, c = image(2, 3, 4), image(2, 5, 4, seed=1), image(2, 3, 5, seed=2)
    told = {"alpha": 2.0, "beta": 0.5, "transpose_a": "False", "transpose_b": "True"}
    return single_layer("Gemm", [a, b, c], 2 * (a @ b.transpose(0, 2, 1)) + 0.5 * c, told)


@case
def scale_shift() -> Case:
    w, b = image(4, seed=1), image(4, seed=2)
    expected = X * w[:, None, None] + b[:, None, None]
    return single_layer("ScaleShift", [X], expected, {"broadcast": 0}, {"weights": w, "biases": b})


@case
def scale_shift_of_one_factor() -> Case:
    w = image(1, seed=1)
    return single_layer("ScaleShift", [X], X * w, None, {"weights": w}, version=2)


@case
def resample_to_the_nearest() -> Case:
    told = {"type": "caffe.ResampleParameter.NEAREST", "factor": 2.0, "antialias": 0}
    return single_layer("Resample", [X], X.repeat(2, 2).repeat(2, 3), told)


@case
def upsampling() -> Case:
    return single_layer("Upsampling", [X], X.repeat(3, 2).repeat(3, 3), {"scale": 3})


@case
def interp_keeps_the_corners() -> Case:
    def line(values: Array, size: int) -> Array:
        places = np.linspace(0, values.shape[-1] - 1, size)
        low = np.minimum(places.astype(int), values.shape[-1] - 2)
        return values[..., low] * (1 - (places - low)) + values[..., low + 1] * (places - low)

    expected = line(line(X, 11).swapaxes(2, 3), 7).swapaxes(2, 3).astype(np.float32)
    told = {"height": 7, "width": 11, "align_corners": 1, "pad_beg": 0, "pad_end": 0}
    return single_layer("Interp", [X], expected, told)


@case
def interp_with_a_zoom_factor_as_caffe_counts() -> Case:
    x = np.arange(3, dtype=np.float32).reshape(1, 1, 1, 3).repeat(2, 2)
    expected = np.arange(0, 2.25, 0.5, dtype=np.float32).reshape(1, 1, 1, 5).repeat(3, 2)
    return single_layer("Interp", [x], expected, {"zoom_factor": 2, "pad_beg": 0, "pad_end": 0}, version=2)


@case
def mat_mul() -> Case:
    a, b = image(2, 3), image(3, 4, seed=1)
    return single_layer("MatMul", [a, b], a @ b)


@case
def deformable_convolution_without_offsets() -> Case:
    w = image(3, 4, 2, 2, seed=3)
    expected = convolve(X, w, (1, 1), (0, 0), (0, 0))
    offsets = np.zeros((1, 8, 4, 5), np.float32)
    told = {"kernel": (2, 2), "output": 3, "group": 1, "deformable_group": 1}
    return single_layer("DeformableConvolution", [X, offsets], expected, told, {"weights": w})


@case
def binary_convolution() -> Case:
    # Bytes that are the same in both directions: OpenVINO's plugin takes the lowest bit of a byte first.
    x = np.where(image(1, 8, 3, 4) > 0, 1, 0).astype(np.float32)
    bits = np.array([[1, 0, 1, 1, 1, 1, 0, 1], [0, 1, 0, 0, 0, 0, 1, 0]])
    expected = np.einsum("nchw,oc->nohw", 2 * x - 1, 2 * bits - 1).astype(np.float32)
    told = {"kernel": (1, 1), "output": 2, "input": 8, "group": 1, "mode": "xnor-popcount", "pad_value": 0.0}
    return single_layer("BinaryConvolution", [x], expected, told, {"weights": np.packbits(bits)})
