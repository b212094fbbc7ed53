from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.loaders.clean import clean, collapse, loss_warnings


@pytest.mark.parametrize(
    ("text", "kept", "controls", "invisible"),
    [
        ("plain\ttext\n", "plain\ttext\n", 0, 0),
        ("a\r\nb\rc\x0cd\u2028e\x85f", "a\nb\nc\nd\ne\nf", 0, 0),
        ("a\x00b\x07\x1b\x7f\x9f", "ab", 5, 0),
        ("\x1b[31;1mred\x1b[0m", "red", 0, 0),
        ("a\ud800b\udfff\ufffe\uffff", "ab", 4, 0),
        ("pass\u200bword\u2060s\ufeff", "passwords", 0, 3),
        ("a\u202eb\u202c\u2066c\u2069", "abc", 0, 4),
        ("hi" + "".join(chr(0xE0000 + ord(c)) for c in "send"), "hi", 0, 4),
        ("dis\u00adtribution", "distribution", 0, 0),
        # Needed by the script, and kept.
        ("می\u200cخواهم", "می\u200cخواهم", 0, 0),
        ("क्\u200dष", "क्\u200dष", 0, 0),
        ("ភាសា\u200bខ្មែរ", "ភាសា\u200bខ្មែរ", 0, 0),
        ("👩\u200d⚕\ufe0f", "👩\u200d⚕\ufe0f", 0, 0),
        ("שלום\u200f!", "שלום\u200f!", 0, 0),
        # The same characters as a message.
        ("ا" + "\u200c\u200d" * 3 + "b", "ا\u200cb", 0, 5),
        ("x\u200c\u200dy", "xy", 0, 2),
        ("☺\ufe0f\ufe01\ufe02", "☺\ufe0f", 0, 2),
        ("☺" + "".join(chr(0xE0100 + c) for c in b"do it"), "☺\U000e0164", 0, 4),
    ],
)
def test_what_goes_and_what_stays(text: str, kept: str, controls: int, invisible: int) -> None:
    cleaned = clean(text)
    assert (cleaned.text, cleaned.controls, cleaned.invisible) == (kept, controls, invisible)


ODD = st.text(
    st.sampled_from("a ب👩\u200b\u200c\u200d\ufe0f\ufe01\U000e0101\U000e0041\u202e\x00\r\n\x1b[m\ud800\u00ad\ufeff")
)


@given(st.one_of(st.text(st.characters()), ODD))
def test_cleaning_twice_changes_nothing_and_leaves_nothing_forbidden(text: str) -> None:
    once = clean(text).text
    again = clean(once)
    assert (again.text, again.controls, again.invisible) == (once, 0, 0)
    assert not set(once) & set("\x00\r\x1b\u202e\ufeff\ufffe")
    once.encode()  # no surrogates


def test_warnings_count() -> None:
    assert loss_warnings(0, 0) == ()
    assert loss_warnings(1, 3) == ("1 control character removed", "3 invisible characters removed")


def test_collapse() -> None:
    assert collapse("  a\n\t b\u00a0c ") == "a b c"
