"""List numbers as a reader sees them."""

from __future__ import annotations

__all__ = ["ordinal"]

_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)


def ordinal(number: int, style: str) -> str:
    """`number` in the `style` of an HTML list: "1", "a", "A", "i" or "I".

    Letters go on with "aa" after "z". What a style cannot write (zero, or 4,000 in Roman) is written in digits.

    >>> ordinal(4, "i"), ordinal(28, "A"), ordinal(7, "1")
    ('iv', 'AB', '7')
    """
    if style in ("a", "A") and number > 0:
        letters = ""
        while number:
            number, digit = divmod(number - 1, 26)
            letters = chr(ord(style) + digit) + letters
        return letters
    if style in ("i", "I") and 0 < number < 4000:
        roman = ""
        for value, letter in _ROMAN:
            times, number = divmod(number, value)
            roman += letter * times
        return roman if style == "i" else roman.upper()
    return str(number)
