"""Text into the terms that the lexical leg indexes and searches. Documents and queries go through the same function.

The engine's own tokenizers each lose something (``Multilingual`` drops numbers, ``Word`` leaves Chinese in one piece,
none splits "E1234-XZ"), so the terms are made here and handed to the engine separated by spaces. Stop words and
Snowball stemming of the configured language are the engine's part.
"""

from __future__ import annotations

import unicodedata

import regex

__all__ = ["LANGUAGES", "analyze"]

#: Languages with both a Snowball stemmer and a stop-word list in the engine.
LANGUAGES = (
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "turkish",
)

# In these an accent marks a loan word ("café") and is left out as often as not.
_ACCENTS_OPTIONAL = frozenset({"english"})

# Scripts written without spaces between words, and Hangul, whose words carry particles and are joined or parted at
# will: indexed as overlapping pairs of characters. The long mark of kana (ー) and 〆 belong to no script of their own.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー〆\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"

# A word holds letters, digits and the marks that belong to them (Devanagari vowel signs are marks). Joiners inside it
# keep codes and numbers whole: E1234-XZ, 3.14, 1,000, p53/MDM2, AT&T, snake_case.
_TOKEN = regex.compile(
    rf"[{_UNSPACED}]+(?:\p{{M}}+[{_UNSPACED}]*)*"
    rf"|(?:(?![{_UNSPACED}])[\p{{L}}\p{{N}}\p{{M}}])+"
    rf"(?:[-–‑./,'’&_:](?:(?![{_UNSPACED}])[\p{{L}}\p{{N}}\p{{M}}])+)*"
)
_UNSPACED_START = regex.compile(rf"[{_UNSPACED}]")
_JOINER = regex.compile(r"[-–‑./,'’&_:]")
_NUMBER = regex.compile(r"\d{1,3}(?:,\d{2,3})+(?:\.\d+)?|\d+(?:\.\d+)+")
_FOREIGN_DIGIT = regex.compile(r"(?![0-9])\p{Nd}")
_POSSESSIVE = regex.compile(r"['’]s?$")
# Not seen, and no end of a word: soft hyphens, word joiners, and the joiners that only choose the shape of a letter
# (Hindi is typed with and without them). In Arabic script the non-joiner parts a word's pieces, and stays a gap.
_INVISIBLE = regex.compile(r"[\u00AD\u200D\u2060\uFEFF]|(?<!\p{Arabic}\p{M}{0,4})\u200C|\u200C(?!\p{Arabic})")


def analyze(text: str, language: str = "english") -> list[str]:
    """Terms of `text`, in order, case-folded and in compatibility form (NFKC); repeated terms stay repeated.

    A number stays whole. A code with inner joiners and a digit gives the whole, joined by "-", and its parts; other
    joined words give their parts, and one-letter abbreviations their letters as one term. Runs of scripts without
    spaces, and of Hangul, give overlapping pairs of characters. Characters that are not seen (soft hyphens, joiners)
    are passed over. Where the language uses accents, a folded twin follows the accented word, so that either spelling
    finds it.

    >>> analyze("Section 302(2) of the IPC, E1234-XZ")
    ['section', '302', '2', 'of', 'the', 'ipc', 'e1234-xz', 'e1234', 'xz']
    >>> analyze("Café")
    ['cafe']
    >>> analyze("東京都")
    ['東京', '京都']
    >>> analyze("1,000.50 or 3.14, धारा ३०२")
    ['1000.50', 'or', '3.14', 'धारा', '302']
    >>> analyze("the U.S. re-election")
    ['the', 'us', 're', 'election']
    """
    terms: list[str] = []
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    folded = unicodedata.normalize("NFKC", text)
    if language == "turkish":  # whose I is the capital of ı, and İ of i
        folded = folded.replace("I", "ı").replace("İ", "i")
    folded = folded.casefold()
    if not folded.isascii():
        folded = _FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match.group())), folded)
    if language in _ACCENTS_OPTIONAL:
        folded = fold_accents(folded)
    for match in _TOKEN.finditer(folded):
        word = match.group()
        if _UNSPACED_START.match(word):
            clusters = regex.findall(r"\X", word)
            pairs = ["".join(clusters[i : i + 2]) for i in range(len(clusters) - 1)]
            terms.extend(pairs or clusters)
        elif _JOINER.search(word):
            terms.extend(_compound(word))
        else:
            terms.append(word)
    if language not in _ACCENTS_OPTIONAL:
        terms = [variant for term in terms for variant in dict.fromkeys((term, fold_accents(term)))]
    return terms


def _compound(word: str) -> list[str]:
    if _NUMBER.fullmatch(word):
        return [word.replace(",", "")]
    word = _POSSESSIVE.sub("", word)
    parts = [part for part in _JOINER.split(word) if part]
    if len(parts) < 2:
        return parts
    if all(len(part) == 1 for part in parts):  # U.S., e.g., A&B
        return ["".join(parts)]
    # A code is worth its whole form; for hyphenated words the parts alone rank better (docs/decisions/0005).
    return ["-".join(parts), *parts] if any(c.isdigit() for c in word) else parts


def fold_accents(text: str) -> str:
    """Remove accents from Latin, Greek and Cyrillic letters, and dot the ı. Marks of other scripts are letters there.

    >>> fold_accents("Crème brûlée हिन्दी")
    'Creme brulee हिन्दी'
    """
    if text.isascii():
        return text
    kept: list[str] = []
    plain_base = False
    for character in unicodedata.normalize("NFD", text):
        if unicodedata.category(character) == "Mn":
            if plain_base:
                continue
        else:
            plain_base = character.isalpha() and ord(character) < 0x0530
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).replace("ı", "i")
