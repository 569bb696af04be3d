"""The modules that `make.py` exports: their lines are what the tests find again."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class ConvBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.conv(x))
        return functional.relu(y + x)


def scale(x: Tensor) -> Tensor:
    return x * 0.5 + 1


class Nested(nn.Module):
    """Blocks in a list, a Sequential, a module that is called twice, and a function."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU())
        self.blocks = nn.ModuleList([ConvBlock(4), ConvBlock(4)])
        self.shared = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        for block in self.blocks:
            x = block(x)
        x = scale(x.mean((2, 3)))
        for _ in range(2):
            x = torch.tanh(self.shared(x))
        return functional.softmax(self.head(x), -1)


class Attention(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)
        self.out = nn.Linear(size, size)

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
        mixed = scores.softmax(-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(size)
        self.attention = Attention(size, 2)
        self.norm2 = nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.layers = nn.ModuleList([Layer(8)])
        self.norm = nn.LayerNorm(8)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class Choice(nn.Module):
    """A branch that depends on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Linear(4, 4)
        self.right = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        chosen = torch.cond(x.sum() > 0, self.if_positive, self.if_negative, (x,))
        return chosen * 2

    def if_positive(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.left(x))

    def if_negative(self, x: Tensor) -> Tensor:
        return self.right(x) - 1
