"""The ExperimentalDetectron operators: shapes, and attributes that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import ShapeError
from ir_exec.types import Shape
from tests.helpers.facts import naming
from tests.helpers.operators import make
from tests.helpers.values import make_type


def test_a_grid_larger_than_the_feature_map() -> None:
    operator = make("ExperimentalDetectronPriorGridGenerator", 6, h=4)
    with pytest.raises(ShapeError, match=naming("3", "4", "feature_map")):
        operator.infer(make_type("2,4"), make_type("1,8,3,3"), make_type("1,3,9,9"))
    shape = operator.infer(make_type("2,4"), make_type("1,8,?,3"), make_type("1,3,9,9")).shape
    assert shape == Shape([None, 3, 2, 4])


def test_more_levels_than_scales() -> None:
    operator = make(
        "ExperimentalDetectronROIFeatureExtractor", 6, output_size=2, sampling_ratio=1, pyramid_scales="4,8"
    )
    levels = [make_type("1,2,4,4")] * 3
    with pytest.raises(ShapeError, match=naming("2", "3", "pyramid_scales")):
        operator.infer(make_type("5,4"), *levels)
    with pytest.raises(ShapeError, match=naming("pyramid")):
        operator.infer(make_type("5,4"), levels[0], make_type("1,3,4,4"))
    features, boxes = operator.infer(make_type("..."), make_type("..."), levels[0])
    assert (features.shape, boxes.shape) == ([None, 2, 2, 2], [None, 4])


def test_features_of_a_flat_pyramid_are_its_levels() -> None:
    operator = make(
        "ExperimentalDetectronROIFeatureExtractor", 6, output_size=2, sampling_ratio=2, pyramid_scales="4,8,16"
    )
    levels = [np.full((1, 1, 64 >> i, 64 >> i), i + 1, np.float32) for i in range(3)]
    sizes = [20, 111, 113, 223, 225, 0]
    rois = np.array([[0, 0, size, size] for size in sizes], np.float32)
    features, boxes = operator.evaluate(rois, *levels)
    assert features.mean(axis=(1, 2, 3)).tolist() == [1, 1, 2, 2, 3, 0]
    assert boxes.tolist() == rois.tolist()
    assert not np.may_share_memory(boxes, rois)
