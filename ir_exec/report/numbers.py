"""Numbers as text: counts with nouns, values, times and sizes with units."""

from __future__ import annotations

__all__ = ["format_bytes", "format_count", "format_number", "format_number_pair", "format_seconds", "pluralize"]


def pluralize(count: int, singular: str, plural: str | None = None) -> str:
    """Return the form of a noun or verb for a count; the plural ends with `s` by default."""
    return singular if count == 1 else f"{singular}s" if plural is None else plural


def format_count(count: int, noun: str, spec: str = "") -> str:
    """Return a count with its noun: `1 layer`, `2048 layers`.

    Args:
        spec: The format of the number, such as "," for `2,048 layers`.
    """
    return f"{count:{spec}} {pluralize(count, noun)}"


def format_number(value: float | str | None) -> str:
    """Return a number with four significant digits, and a dash for None."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.4g}"


def format_number_pair(left: float | str | None, right: float | str | None) -> tuple[str, str]:
    """Return two numbers with enough digits to show that they differ."""
    if isinstance(left, str) or isinstance(right, str) or left is None or right is None or left == right:
        return format_number(left), format_number(right)
    pair = format_number(left), format_number(right)
    digits = 4
    while pair[0] == pair[1] and digits < 17:
        digits += 1
        pair = f"{left:.{digits}g}", f"{right:.{digits}g}"
    if digits > 4 and max(abs(left), abs(right)) < 2**53 and left == int(left) and right == int(right):
        pair = str(int(left)), str(int(right))
    return pair


def format_seconds(seconds: float) -> str:
    """Return a time with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if abs(seconds) >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def format_bytes(size: int) -> str:
    """Return a size with a suitable decimal unit."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"
