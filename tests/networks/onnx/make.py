"""Makes the files of this folder: small networks as real exporters write them, inputs, and onnxruntime's outputs.

    pip install torch onnxscript transformers scikit-learn skl2onnx onnx onnxruntime
    python make.py [NAME...]

The tests take the files as they are; nothing of what makes them need be installed. Weights are random.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn
from torch.nn import functional

FOLDER = Path(__file__).parent

Maker = Callable[[Path], tuple[Tensor, ...]]
"""Writes a network to a path and gives its inputs."""

NETWORKS: dict[str, Maker] = {}


def network(function: Maker) -> Maker:
    NETWORKS[function.__name__] = function
    return function


def export_traced(
    module: nn.Module,
    inputs: tuple[Tensor, ...],
    path: Path,
    opset: int,
    dynamic: dict[int, str] | None = None,
    **options: Any,
) -> None:
    """By the exporter that traces, with a name for each dim of the first input that is to be dynamic."""
    names = [f"input{at}" for at in range(len(inputs))]
    axes = {names[0]: dynamic} if dynamic else None
    torch.onnx.export(
        module.eval(), inputs, path, dynamo=False, opset_version=opset, input_names=names, dynamic_axes=axes, **options
    )


def export_dynamo(module: nn.Module, inputs: tuple[Tensor, ...], path: Path, opset: int) -> None:
    """By the newer exporter."""
    torch.onnx.export(module.eval(), inputs, path, dynamo=True, opset_version=opset, external_data=False, verbose=False)


def block(inner: int, outer: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(inner, outer, 3, stride, 1, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outer), nn.ReLU())


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.first, self.second = block(inner, outer, 2), block(outer, outer)
        self.short = nn.Conv2d(inner, outer, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.second(self.first(x)) + self.short(x))


def small_resnet() -> nn.Module:
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)]
    return nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3), nn.MaxPool2d(3, 2, 1), Residual(8, 16), *head)


@network
def resnet(path: Path) -> tuple[Tensor, ...]:
    inputs = (torch.randn(2, 3, 24, 24),)
    export_traced(small_resnet(), inputs, path, 17, {0: "batch"})
    return inputs


@network
def separable(path: Path) -> tuple[Tensor, ...]:
    """Depthwise convolutions and a gate, by the newer exporter."""
    gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.deep, self.gate = block(3, 8, 2), block(8, 8, 1, 8), gate

        def forward(self, x: Tensor) -> Tensor:
            x = self.stem(x)
            x = functional.hardswish(self.deep(x))
            return (x * self.gate(x)).mean((2, 3))

    inputs = (torch.randn(1, 3, 16, 16),)
    export_dynamo(Gated(), inputs, path, 18)
    return inputs


class Up(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = block(3, 8), block(8, 8), nn.Conv2d(16, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        high = self.first(x)
        low = self.second(functional.max_pool2d(high, 2))
        low = functional.interpolate(low, size=high.shape[2:], mode="bilinear", align_corners=True)
        return self.last(torch.cat([low, high], 1))


@network
def unfolded(path: Path) -> tuple[Tensor, ...]:
    """Convolutions and normalizations that the exporter leaves unfused, before and after each other."""
    first = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU6())
    module = nn.Sequential(first, block(16, 16, groups=16), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 8, 1))
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            for vector in (part.weight, part.bias, part.running_mean):
                nn.init.normal_(vector)
            nn.init.uniform_(part.running_var, 0.5, 2)
    inputs = (torch.randn(1, 3, 20, 18),)
    export_traced(module, inputs, path, 17, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    return inputs


@network
def unet(path: Path) -> tuple[Tensor, ...]:
    inputs = (torch.randn(1, 3, 12, 18),)
    export_traced(Up(), inputs, path, 11, {2: "height", 3: "width"})
    return inputs


@network
def windows(path: Path) -> tuple[Tensor, ...]:
    """Attention in shifted windows: Reshape, Transpose, Gather of a table of places."""

    class Windows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.both, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
            self.table = nn.Parameter(torch.randn(49, 2))
            self.register_buffer("places", torch.randint(0, 49, (16, 16)))

        def forward(self, x: Tensor) -> Tensor:
            n, h, w, c = x.shape
            y = torch.roll(self.norm(x), (-2, -2), (1, 2))
            y = y.view(n, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
            q, k, v = self.both(y).view(-1, 16, 3, 2, c // 2).permute(2, 0, 3, 1, 4).unbind(0)
            weights = (q @ k.transpose(-2, -1) + self.table[self.places].permute(2, 0, 1)).softmax(-1)
            y = self.out((weights @ v).transpose(1, 2).reshape(-1, 16, c))
            y = y.view(n, h // 4, w // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)
            return x + torch.roll(y, (2, 2), (1, 2))

    inputs = (torch.randn(1, 8, 8, 8),)
    export_traced(Windows(), inputs, path, 13)
    return inputs


@network
def activations(path: Path) -> tuple[Tensor, ...]:
    """Activations, a normalization and attention, of an opset that has operators for none of them."""

    class Attended(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before = nn.LayerNorm(24)
            self.heads = nn.Linear(24, 72)
            self.inner, self.outer = nn.Linear(24, 48), nn.Linear(48, 24)

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            heads = self.heads(self.before(functional.silu(x))).reshape(2, 10, 3, 4, 6).permute(2, 0, 3, 1, 4)
            query, key, value = heads.unbind(0)
            scores = query @ key.transpose(-1, -2) / 6**0.5 + mask
            x = x + (scores.softmax(-1) @ value).transpose(1, 2).reshape(2, 10, 24)
            x = self.outer(functional.gelu(self.inner(functional.hardswish(x)), approximate="tanh"))
            return functional.gelu(x * torch.sigmoid(1.702 * x))

    module = Attended()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    inputs = (torch.randn(2, 10, 24), torch.zeros(2, 1, 1, 10))
    inputs[1][1, ..., 7:] = -10_000
    export_traced(module, inputs, path, 13)
    return inputs


@network
def lstm(path: Path) -> tuple[Tensor, ...]:
    """Two layers in both directions, over a sequence of any length."""
    inputs = (torch.randn(4, 2, 5),)
    export_traced(nn.LSTM(5, 6, num_layers=2, bidirectional=True), inputs, path, 17, {0: "time"})
    return inputs


@network
def yolo(path: Path) -> tuple[Tensor, ...]:
    """A detection head with its grid, for images of any size."""

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = block(3, 8, 2), nn.Conv2d(8, 21, 1)
            self.register_buffer("anchors", torch.tensor([[1.0, 2], [3, 1], [2, 2]]).view(1, 3, 1, 1, 2))

        def forward(self, x: Tensor) -> Tensor:
            y = self.head(self.body(x))
            n, _, h, w = y.shape
            y = y.view(n, 3, 7, h, w).permute(0, 1, 3, 4, 2).sigmoid()
            rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            middle = (y[..., :2] * 2 - 0.5 + torch.stack((columns, rows), -1)) * 2
            sizes = (y[..., 2:4] * 2) ** 2 * self.anchors
            return torch.cat([middle, sizes, y[..., 4:]], -1).view(n, -1, 7)

    inputs = (torch.randn(1, 3, 16, 20),)
    export_traced(Head(), inputs, path, 17, {0: "batch", 2: "height", 3: "width"})
    return inputs


@network
def loops(path: Path) -> tuple[Tensor, ...]:
    """Loops with a condition inside each other, and an If."""

    class Loops(nn.Module):
        def forward(self, x: Tensor, count: Tensor) -> Tensor:
            y = x
            for i in range(int(count)):
                for _ in range(i + 1):
                    if bool(y.mean() > i):  # noqa: SIM108  # an If, of which this makes one node
                        y = y - 0.5
                    else:
                        y = y + x
            return y

    inputs = (torch.randn(2, 3), torch.tensor(3))
    export_traced(torch.jit.script(Loops()), inputs, path, 17, {0: "rows"})
    return inputs


@network
def assigned(path: Path) -> tuple[Tensor, ...]:
    """Assignments to slices and by masks: ScatterND, Where, NonZero."""

    class Assigned(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            x = x.clone()
            x[:, 1:3] = y
            x[0, 0] = 5
            x[x < -1] = 0
            return x, x[x > 1]

    inputs = (torch.randn(3, 4), torch.randn(3, 2))
    export_traced(Assigned(), inputs, path, 16, {0: "batch"})
    return inputs


@network
def spectrum(path: Path) -> tuple[Tensor, ...]:
    """Fourier transforms, by the newer exporter."""

    class Spectrum(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.fft.irfft(torch.fft.rfft(x) * 0.5) + torch.view_as_real(torch.fft.fft(x)).sum(-1)

    inputs = (torch.randn(2, 8),)
    export_dynamo(Spectrum(), inputs, path, 18)
    return inputs


@network
def attention(path: Path) -> tuple[Tensor, ...]:
    """The operators Attention and RMSNormalization of the newest opsets."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.both, self.out = nn.RMSNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x: Tensor) -> Tensor:
            q, k, v = self.both(self.norm(x)).view(2, 5, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).reshape(2, 5, 16))

    inputs = (torch.randn(2, 5, 16),)
    export_dynamo(Block(), inputs, path, 23)
    return inputs


def bert_file(path: Path) -> tuple[Tensor, ...]:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=16,
        attn_implementation="eager",
    )

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = BertModel(config)

        def forward(self, ids: Tensor, mask: Tensor) -> Any:
            return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

    inputs = (torch.randint(3, 50, (2, 6)), torch.tensor([[1] * 6, [1] * 4 + [0] * 2]))
    export_traced(Bert(), inputs, path, 17, {0: "batch", 1: "words"})
    return inputs


@network
def bert(path: Path) -> tuple[Tensor, ...]:
    return bert_file(path)


@network
def bert_fused(path: Path) -> tuple[Tensor, ...]:
    """The form of onnxruntime's optimizer: operators of com.microsoft."""
    from onnxruntime.transformers.optimizer import optimize_model

    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "bert.onnx"
        inputs = bert_file(plain)
        fused = optimize_model(str(plain), "bert", num_heads=2, hidden_size=16, opt_level=0)
        fused.save_model_to_file(str(path))
    return inputs


@network
def gpt2_fused(path: Path) -> tuple[Tensor, ...]:
    """A decoder with its cache, as onnxruntime's optimizer writes it."""
    from onnxruntime.transformers.optimizer import optimize_model
    from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=30, n_embd=16, n_layer=1, n_head=2, n_positions=16, attn_implementation="eager")

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = GPT2LMHeadModel(config)

        def forward(self, ids: Tensor, mask: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
            cache = DynamicCache()
            cache.update(key, value, 0)
            outputs = self.model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True)
            (after,) = outputs.past_key_values.layers
            return outputs.logits, after.keys, after.values

    past = torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8)
    inputs = (torch.randint(0, 30, (1, 2)), torch.ones(1, 6, dtype=torch.int64), *past)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "gpt2.onnx"
        export_traced(Decoder(), inputs, plain, 13, {1: "words"})
        fused = optimize_model(str(plain), "gpt2", num_heads=2, hidden_size=16, opt_level=0)
        fused.save_model_to_file(str(path))
    return inputs


class Suppress(torch.autograd.Function):
    """NonMaxSuppression as torchvision writes it."""

    @staticmethod
    def forward(_: Any, boxes: Tensor, scores: Tensor) -> Tensor:
        return torch.tensor([[0, 0, 0]])

    @staticmethod
    def symbolic(g: Any, boxes: Any, scores: Any) -> Any:
        numbers = [g.op("Constant", value_t=torch.tensor(number)) for number in ([20], [0.4], [0.5])]
        return g.op("NonMaxSuppression", boxes, scores, *numbers)


class Align(torch.autograd.Function):
    """RoiAlign as torchvision writes it."""

    @staticmethod
    def forward(_: Any, x: Tensor, boxes: Tensor, batches: Tensor) -> Tensor:
        return torch.zeros(boxes.shape[0], x.shape[1], 2, 2)

    @staticmethod
    def symbolic(g: Any, x: Any, boxes: Any, batches: Any) -> Any:
        sizes = {"output_height_i": 2, "output_width_i": 2, "sampling_ratio_i": 2, "spatial_scale_f": 0.5}
        return g.op("RoiAlign", x, boxes, batches, **sizes)


@network
def detection(path: Path) -> tuple[Tensor, ...]:
    """Two stages: the boxes that are left of a grid, and what is seen in each of them."""

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head, self.out = block(3, 4, 2), nn.Conv2d(4, 6, 1), nn.Linear(16, 3)

        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            features = self.body(x)
            y = self.head(features)
            n, _, h, w = y.shape
            rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            places = torch.stack((columns, rows), -1).reshape(1, -1, 2) * 2.0
            y = y.permute(0, 2, 3, 1).reshape(n, -1, 6)
            sizes = y[..., :2].sigmoid() * 6 + 2
            boxes, scores = torch.cat([places - sizes / 2, places + sizes / 2], -1), y[..., 2:4].sigmoid()
            selected = Suppress.apply(boxes, scores.transpose(1, 2))
            batches, classes, numbers = selected[:, 0], selected[:, 1], selected[:, 2]
            chosen = boxes[batches, numbers]
            seen = self.out(Align.apply(features, chosen, batches).flatten(1))
            return chosen, scores[batches, numbers, classes], seen

    inputs = (torch.randn(2, 3, 16, 12),)
    export_traced(Detector(), inputs, path, 16, {0: "batch", 2: "height", 3: "width"})
    return inputs


@network
def lists(path: Path) -> tuple[Tensor, ...]:
    """A recurrence whose outputs are appended to a list, for sequences of any length."""

    class Recurrence(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            state = torch.zeros(x.size(1), 4)
            states = []
            for i in range(x.size(0)):
                state = torch.tanh(self.cell(x[i]) + state)
                states.append(state)
            return torch.stack(states), states[-1]

    inputs = (torch.randn(5, 2, 4),)
    export_traced(torch.jit.script(Recurrence()), inputs, path, 17, {0: "steps", 1: "batch"})
    return inputs


def quantized_network(path: Path, format: str) -> tuple[Tensor, ...]:
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    inputs = (torch.randn(2, 3, 16, 16),)
    layers = [nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.ReLU()]
    module = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))

    class Samples(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
        def __init__(self) -> None:
            self.left = [{"input0": inputs[0].numpy()}]

        def get_next(self) -> dict[str, Any] | None:
            return self.left.pop() if self.left else None

    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        export_traced(module, inputs, plain, 17)
        kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, "per_channel": format == "QDQ"}
        quantize_static(plain, path, Samples(), QuantFormat[format], **kinds)
    return inputs


@network
def quantized_qdq(path: Path) -> tuple[Tensor, ...]:
    """Quantized with QuantizeLinear and DequantizeLinear around operators of floats."""
    return quantized_network(path, "QDQ")


@network
def quantized_qlinear(path: Path) -> tuple[Tensor, ...]:
    """Quantized with QLinearConv and its kin."""
    return quantized_network(path, "QOperator")


@network
def linear_model(path: Path) -> tuple[Tensor, ...]:
    """A scaler and a regression, from scikit-learn."""
    from skl2onnx import to_onnx
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    inputs = (torch.randn(20, 4),)
    samples = inputs[0].numpy()
    fitted = make_pipeline(StandardScaler(), Ridge()).fit(samples, samples @ [1, -2, 3, 0.5])
    path.write_bytes(to_onnx(fitted, samples[:1], target_opset=17).SerializeToString())
    return inputs


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    for name in names or NETWORKS:
        torch.manual_seed(0)
        path = FOLDER / f"{name}.onnx"
        inputs = [array.numpy() for array in NETWORKS[name](path)]
        options = onnxruntime.SessionOptions()
        # Its rewriters have faults as well.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(path, options)
        declared = [input.name for input in session.get_inputs()]
        outputs = session.run(None, dict(zip(declared, inputs, strict=True)))
        np.savez(path.with_suffix(".inputs.npz"), **{f"input{at}": array for at, array in enumerate(inputs)})
        np.savez(path.with_suffix(".outputs.npz"), **{f"output{at}": array for at, array in enumerate(outputs)})


if __name__ == "__main__":
    main(sys.argv[1:])
