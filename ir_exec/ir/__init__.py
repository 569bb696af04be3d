"""The file format: documents, weights, and how elements are packed. The package is independent of operators.

```python
document = read_document("model.xml")
weights = Weights.open(default_weights_path("model.xml"), order=BitOrder.of(document))
array = weights.read(ElementType.f32, (3, 4), offset=16, size=48)
```

`ir_exec.ir.writer` is imported only for writing, which is rare.
"""

from ir_exec.ir.document import (
    NO_RT_INFO,
    BackEdge,
    Body,
    Document,
    Edge,
    Layer,
    Port,
    PortMapEntry,
    RtInfo,
    join_names,
    source_info,
    split_names,
)
from ir_exec.ir.packing import CURRENT_ORDER, BitOrder, decode, encode, packed_size
from ir_exec.ir.reader import MAX_BODY_DEPTH, read_document
from ir_exec.ir.weights import Weights, default_weights_path, spare_bytes

__all__ = [
    "CURRENT_ORDER",
    "MAX_BODY_DEPTH",
    "NO_RT_INFO",
    "BackEdge",
    "BitOrder",
    "Body",
    "Document",
    "Edge",
    "Layer",
    "Port",
    "PortMapEntry",
    "RtInfo",
    "Weights",
    "decode",
    "default_weights_path",
    "encode",
    "join_names",
    "packed_size",
    "read_document",
    "source_info",
    "spare_bytes",
    "split_names",
]
