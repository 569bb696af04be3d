"""Shared parts of the tables of suppression."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType


def number(value: object, element_type: str = "f32") -> Array:
    return np.array(value, ElementType[element_type].dtype)


def random_boxes(batches: int, classes: int, count: int, seed: int = 0, size: float = 4.0) -> tuple[Array, Array]:
    """Boxes as corners, and scores that differ from each other."""
    random = np.random.default_rng(seed)
    corner = random.uniform(0, 10, (batches, count, 2))
    boxes = np.concatenate([corner, corner + random.uniform(0.5, size, (batches, count, 2))], axis=2)
    total = batches * classes * count
    scores = (random.permutation(total).reshape(batches, classes, count) + 0.5) / total
    return boxes.astype(np.float32), scores.astype(np.float32)
