"""HTML: tables, pages and escapes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from ir_exec.report.html import html_page, html_table, quote_markup


def texts(html: str, tag: str) -> list[str]:
    return ["".join(element.itertext()) for element in etree.fromstring(html).iter(tag)]


def test_tables_escape_all_text() -> None:
    hostile = "<script>alert('a & b')</script>"
    html = html_table(hostile, [hostile, "b"], [[hostile, "1"], ["2", "3"]])
    assert "<script" not in html
    assert texts(html, "caption") == [hostile]
    assert texts(html, "th") == [hostile, "b"]
    assert texts(html, "td") == [hostile, "1", "2", "3"]


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_well_formed_and_visible(text: str) -> None:
    (shown,) = texts(html_table("caption", ["heading"], [[text]]), "td")
    assert shown.isprintable()
    assert shown == text or not text.isprintable() or shown.isascii() or "\\" in shown


def test_a_page() -> None:
    page = html_page("a & <b>", "<p>text</p>", style="p { color: #000; }")
    root = etree.HTML(page)
    assert [root.findtext(f".//{tag}") for tag in ("title", "h1", "p")] == ["a & <b>", "a & <b>", "text"]
    assert root.findtext(".//style") == "p { color: #000; }"
    assert not root.findall(".//b")


@given(st.text(st.characters(exclude_categories=("C",), include_characters="\n\t")))
def test_attribute_markup_is_read_back(markup: str) -> None:
    (attribute,) = etree.HTML(f'<iframe srcdoc="{quote_markup(markup)}"></iframe>').xpath("//iframe/@srcdoc")
    assert attribute == markup
