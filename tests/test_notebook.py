"""Tables for notebooks."""

from __future__ import annotations

from lxml import etree

from ir_exec.notebook import html_table


def texts(html: str, tag: str) -> list[str]:
    return ["".join(element.itertext()) for element in etree.fromstring(html).iter(tag)]


def test_all_text_is_escaped() -> None:
    hostile = "<script>alert('a & b')</script>"
    html = html_table(hostile, [hostile, "b"], [[hostile, "1"], ["2", "3"]])
    assert "<script" not in html
    assert texts(html, "caption") == [hostile]
    assert texts(html, "th") == [hostile, "b"]
    assert texts(html, "td") == [hostile, "1", "2", "3"]
