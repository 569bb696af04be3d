"""Assertions hold no sentences, apart from those that the baseline counts."""

from __future__ import annotations

from tests.words.assertions import excess_by_file, load_sentences, sentences, sentences_of

SOURCE = """
@pytest.mark.parametrize(("name", "message"), [("an own name", "the axis is wrong"), param("x", "all of it is")])
def test_sample(name, message):
    assert facts(message) == facts("the sizes are not equal")
    with pytest.raises(ValueError, match="of a kind that"):
        raise ValueError("there is no such thing")
    assert message in output
    assert output.startswith(f"{count} has too many names")
    assert "no such thing" in output
    assert "--all-of-it model.xml" in output
"""


def test_no_file_has_more_sentences_than_before() -> None:
    assert [str(excess_file) for excess_file in excess_by_file(load_sentences(), sentences())] == []


def test_sentences_of_a_file() -> None:
    assert sentences_of(SOURCE) == [
        (2, "all of it is"),
        (2, "the axis is wrong"),
        (5, "of a kind that"),
        (8, "has too many names"),
    ]
