"""Texts that tokenizers meet: random Unicode, Markdown, code, special tokens, composed and decomposed, white space."""

from __future__ import annotations

import random
import unicodedata

__all__ = ["texts"]

_SPECIAL = (
    "<|endoftext|>",
    "<s>",
    "</s>",
    "<unk>",
    "[CLS]",
    "[MASK]",
    "<|begin_of_text|>",
    "<|eot_id|>",
    "<0x41>",
    "<pad>",
)
_FIXED = (
    "",
    " ",
    "\n",
    "   \t\n  ",
    "Hello, world!",
    "  leading and  double   spaces ",
    "I'm sure they've said it's n't DON'T we'LL",
    "x = [i**2 for i in range(10)]  # squares\n\tprint(x)\n",
    "# Title\n\n- one\n- two\n\n| a | b |\n|---|---|\n",
    "1234567890 3.14159 1,000,000 ½ Ⅷ ²",
    "naïve café Größe ﬁnd ﬀ Å Å",
    "日本語のテキスト 漢字かな交じり文。",
    "Привет, мир! Ёлка",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "مرحبا بالعالم שלום עולם",
    "a" * 300,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "\u200b\u00a0\u2003\u3000\u180e\x85",
    "\x00\x01\x1c\x1f\x7f",
    "-- --- -- ▁▁ ▁a▁",
    '{"key": [1, 2.5e-3, null, true]}',
    "https://example.org/a?b=c&d=%20#e",
    "İstanbul ıI ǅ ſ ẞ",
)
_RANGES = (
    (0x20, 0x7E),
    (0x20, 0x7E),
    (0xA0, 0x24F),
    (0x300, 0x36F),
    (0x370, 0x52F),
    (0x590, 0x6FF),
    (0x900, 0x97F),
    (0xE00, 0xE7F),
    (0x1100, 0x11FF),
    (0x1E00, 0x1FFF),
    (0x2000, 0x2BFF),
    (0x3000, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFFEF),
    (0x1F300, 0x1FAFF),
    (0x20000, 0x2A6DF),
)


def texts(count: int, seed: int = 1) -> list[str]:
    """`count` texts, the same for the same seed."""
    chosen = random.Random(seed)
    drawn_texts = list(_FIXED)
    while len(drawn_texts) < count:
        words = [_word(chosen) for _ in range(chosen.randint(1, 12))]
        text = "".join(word + chosen.choice((" ", " ", " ", "  ", "\n", "", ", ", "\t")) for word in words)
        drawn_texts.append(
            unicodedata.normalize(chosen.choice(("NFC", "NFD", "NFKC")), text) if chosen.random() < 0.5 else text
        )
    return drawn_texts[:count]


def _word(chosen: random.Random) -> str:
    draw = chosen.random()
    if draw < 0.45:
        return chosen.choice(
            ("the", "layer", "Shape", "tensor's", "inputs", "ONNX", "of", "2026", "int8", "a", "we'll")
        )
    if draw < 0.55:
        return chosen.choice(_SPECIAL)
    first, last = chosen.choice(_RANGES)
    return "".join(
        char
        for char in (chr(chosen.randint(first, last)) for _ in range(chosen.randint(1, 8)))
        if unicodedata.category(char) not in ("Cn", "Cs")
    )
