"""What ``pincite ask --explain`` draws: which passage made the model say each word, and how sure it is."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from pincite.types import Answer, Marginal, Passage, Token

__all__ = ["print_explanation"]

#: Okabe and Ito's palette, which people with the common colour blindnesses tell apart. Black on each is legible.
_COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#0072b2")
_LETTERS = string.ascii_uppercase
_MORE = "+"  #: the mark of passages after the twenty-sixth
_UNKNOWN = "?"  #: of tokens without shares

#: A token that the model alone gives at least this probability owes little to the passages.
_KNOWN = 0.5
#: So many times less probable without passages, and the model still knew the answer.
_NEAR = 2.0
#: Share of a token from which its passage is called its source.
_HALF = 0.5

_PIPED = 100
_WIDEST = 110
#: Columns below which the two bars of a passage stand under each other.
_NARROW = 64
_BAR = 24

#: For terminals and files that know no other characters.
_ASCII = {"×": "x", "−": "-", "≤": "<=", "≥": ">=", "·": "."}

# Controls, the marks that turn the direction of text, tags and halves of surrogate pairs. Joiners stay: they spell.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A token as it is drawn."""

    text: str
    mark: str  #: the letter of its passage: a capital where that has at least half of the shares
    colour: str
    known: bool  #: whether the model gives it without passages too


def print_explanation(out: Console, answer: Answer) -> None:
    """Draw where a marginalized answer came from.

    Its tokens, each coloured and marked with the letter of the passage that has the greatest share of it; for each
    passage its name and two bars, p(z|x) and p(z|x,y); the probability of the answer and how far that is exact; the
    same without passages. It reads without colour as well. As wide as the terminal up to 110 columns, 100 in a pipe.
    Without a marginal it says why there is nothing to draw. Text of documents and models is printed as it is, without
    control characters.
    """
    from rich.text import Text

    marginal = answer.marginal
    if marginal is None:
        out.print(Text(_nothing(answer), style="dim"), soft_wrap=True)
        return
    width = max(20, min(out.width, _WIDEST) if out.is_terminal else _PIPED)
    plain = out.options.ascii_only
    out.print()
    pieces = [_piece(token) for token in answer.tokens]
    if any(piece.text.strip() for piece in pieces):
        _words(out, "Which passage each word came from", width, style="bold")
        for line in _lines(pieces, width - 2):
            _draw(out, line, plain)
        _legend(out, marginal, pieces, width, plain)
        out.print()
    else:
        _words(out, "The model gave no tokens: only the passages can be weighed.", width)
    _passages(out, answer.passages, marginal, width, plain)
    _summary(out, answer.tokens, marginal, width)


def _nothing(answer: Answer) -> str:
    if answer.abstained:
        return "nothing to explain: no answer was given"
    return (
        "nothing to explain: the passages were not weighed against each other. "
        "Run: pincite ask --explain --marginalize token --model local QUESTION"
    )


# Tokens


def _seen(text: str) -> str:
    """`text` without control characters, which could move the cursor or hide words; a tab is a space."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\t", " "))


def _letter(place: int) -> str:
    return _LETTERS[place] if place < len(_LETTERS) else _MORE


def _piece(token: Token) -> _Piece:
    text = _seen(token.text)
    known = token.baseline is not None and token.baseline >= math.log(_KNOWN)
    if not token.posterior:
        return _Piece(text, _UNKNOWN, "", known)
    place = max(range(len(token.posterior)), key=token.posterior.__getitem__)
    letter = _letter(place)
    sure = token.posterior[place] >= _HALF
    return _Piece(text, letter if sure else letter.lower(), _COLOURS[place % len(_COLOURS)], known)


def _clusters(text: str) -> list[str]:
    """What is drawn as one: a letter with its marks. None is cut between two lines."""
    if text.isascii():
        return list(text)
    import regex

    found: list[str] = regex.findall(r"\X", text)
    return found


def _lines(pieces: Sequence[_Piece], width: int) -> Iterator[list[_Piece]]:
    """Lines of at most `width` cells, broken where tokens begin with white space if they can be."""
    from rich.cells import cell_len

    line: list[_Piece] = []
    used = 0
    for word in _chunks(pieces):
        size = sum(cell_len(piece.text) for piece in word)
        if line and used + size > width and (size <= width or used > width // 2):
            yield line
            line, used = [], 0
            # A line does not begin with the space that parted two words.
            word = [_Piece(word[0].text.lstrip(" "), word[0].mark, word[0].colour, word[0].known), *word[1:]]
        for piece in word:
            if piece.text == "\n":
                yield line
                line, used = [], 0
                continue
            for cluster in _clusters(piece.text):
                cells = cell_len(cluster)
                if used + cells > width and line:
                    yield line
                    line, used = [], 0
                line.append(_Piece(cluster, piece.mark, piece.colour, piece.known))
                used += cells
    if line:
        yield line


def _chunks(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """Tokens, and parts of tokens, that stand together without white space; line feeds by themselves."""
    word: list[_Piece] = []
    for piece in pieces:
        for part in re.findall(r"\n|[^\S\n]*[^\s]+|[^\S\n]+", piece.text):
            if word and (part == "\n" or part[0].isspace()):
                yield word
                word = []
            word.append(_Piece(part, piece.mark, piece.colour, piece.known))
            if part == "\n":
                yield word
                word = []
    if word:
        yield word


def _draw(out: Console, line: Sequence[_Piece], plain: bool) -> None:
    """A line of text, and under it a letter where another passage begins, with a line to where it ends."""
    from rich.cells import cell_len
    from rich.text import Text

    words: list[tuple[str, str]] = [("  ", "")]
    marks: list[tuple[str, str]] = [("  ", "")]
    last: tuple[str, str] | None = None
    rule, dots = ("-", ".") if plain else ("─", "·")
    for piece in line:
        cells = cell_len(piece.text)
        begins = (piece.mark, piece.colour) != last
        if begins and piece.text.isspace():
            # The space before a word of another passage belongs to neither; the letter stands under the word.
            words.append((piece.text, ""))
            marks.append((" " * cells, ""))
            continue
        # Less than half: the colour without the weight of a ground.
        small = piece.mark in _LETTERS.lower()
        words.append((piece.text, f"black on {piece.colour}" if piece.colour and not small else piece.colour))
        stroke = (dots if piece.known else rule) * cells
        if begins and cells:
            stroke = piece.mark + stroke[1:]
            last = (piece.mark, piece.colour)
        marks.append((stroke, piece.colour))
    for row in (words, marks):
        text = Text()
        for style, run in groupby(row, key=lambda part: part[1]):
            text.append("".join(part for part, _ in run), style=style)
        text.rstrip()
        out.print(text, soft_wrap=True)


def _legend(out: Console, marginal: Marginal, pieces: Sequence[_Piece], width: int, plain: bool) -> None:
    reach = "up to and with the word" if marginal.mode == "sequence" else "of each word by itself"
    told = [f"A letter: the passage with the greatest share, {reach}."]
    marks = {piece.mark for piece in pieces if piece.text.strip()}
    if marks & set(_LETTERS.lower()):
        told.append("A small letter: less than half.")
    if _MORE in marks:
        told.append(f"{_MORE}: a passage after the twenty-sixth.")
    if any(piece.known for piece in pieces):
        told.append(
            f"Dots ({'...' if plain else '···'}): the model gives the token p ≥ {_KNOWN:g} without any passage."
        )
    _words(out, " ".join(told), width, style="dim")


# Passages

_BARS = "Before: how sure the search was of each passage, p(z|x). After: with what the model read, p(z|x,y)."


def _passages(out: Console, passages: Sequence[Passage], marginal: Marginal, width: int, plain: bool) -> None:
    from rich.text import Text

    for place, (prior, posterior) in enumerate(zip(marginal.priors, marginal.posteriors, strict=False)):
        colour = _COLOURS[place % len(_COLOURS)]
        head = Text(_letter(place), style=f"black on {colour}")
        name = f"{place + 1}."
        if place < len(passages):
            name += f" {_place_of(passages[place])}"
        head.append(" ")
        name = " ".join(_seen(name).split())
        head.append(name, style="bold")
        if head.cell_len > width:  # the end tells passages apart: what is cut is in the middle
            end = Text(name[-(width // 3) :], style="bold")
            head.truncate(width - end.cell_len, overflow="ellipsis")
            head.append_text(end)
        out.print(head, soft_wrap=True)
        narrow = width < _NARROW
        size = max(4, width - 22) if narrow else min(_BAR, (width - 42) // 2)
        bars = (("before", prior), ("after", posterior))
        lines = [[bar] for bar in bars] if narrow else [bars]
        for line in lines:
            text = Text("  ")
            for number, (label, share) in enumerate(line):
                text.append("   " if number else "")
                text.append(f"{label:6} ", style="dim")
                text.append(_bar(share, size, plain), style=colour)
                text.append(f" {share:.4f}")
            out.print(text, soft_wrap=True)
    _words(out, _BARS, width, style="dim")
    out.print()


def _place_of(passage: Passage) -> str:
    """Title, page, headings that are not the title again, and characters: many passages share all but these."""
    chunk = passage.chunk
    parts = [passage.title] if chunk.page is None else [passage.title, f"p. {chunk.page}"]
    title = _bare(passage.title)
    if headings := [each for each in chunk.headings if _bare(each) != title]:
        parts.append(" › ".join(headings))
    return f"{', '.join(parts)}, characters {chunk.start}-{chunk.end}"


def _bare(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _bar(share: float, size: int, plain: bool) -> str:
    full = min(size, max(0, round(share * size)))
    # A share that rounds to nothing is not nothing.
    if share > 0 and not full:
        return ("." if plain else "▏").ljust(size)
    return ("#" if plain else "█") * full + " " * (size - full)


# The whole


def _summary(out: Console, tokens: Sequence[Token], marginal: Marginal, width: int) -> None:
    count = len(marginal.priors)
    of = f"RAG-{marginal.mode.title()}, {count} passage{'s' if count != 1 else ''}"
    least, most = marginal.logprob, min(0.0, marginal.logprob + marginal.slack)
    # What a model does not list counts as 0: what is drawn must not look like the whole where it is not.
    p = _p(least) if _p(least) == _p(most) else f"between {_p(least)} and {_p(most)}"
    _words(out, f"probability of the answer {p}   {marginal.certainty}   {of}", width, style="bold")
    logprobs = [token.logprob for token in tokens if token.logprob is not None]
    if logprobs and len(logprobs) == len(tokens) and not marginal.slack:
        words = math.fsum(logprobs)
        if (end := least - words) < -1e-9:
            _words(out, f"its words {_p(words)}, times {_p(end)} that the answer ends there", width)
    if marginal.baseline is None:
        return
    told = f"without passages p = {_p(marginal.baseline)}"
    bare = marginal.baseline
    gain, gain_at_most = (each - bare if math.isfinite(bare) else math.inf for each in (least, most))
    if gain_at_most <= math.log(_NEAR):
        _words(
            out, f"{told}: the model knew it anyway; the passages confirm more than they tell", width, style="yellow"
        )
    elif gain <= math.log(_NEAR):
        _words(out, told, width)
    elif math.isinf(gain):
        _words(out, f"{told}: only the passages make it possible", width)
    else:
        at_least = "" if _times(gain) == _times(gain_at_most) else "at least "
        _words(out, f"{told}: the passages make it {at_least}{_times(gain)} times as probable", width)


def _p(logprob: float) -> str:
    """A probability; as a power of ten where four digits would be none, also where a float would be 0."""
    if logprob >= math.log(1e-3):
        return f"{min(1.0, math.exp(logprob)):.4f}"
    if math.isinf(logprob):
        return "0"
    power = math.floor(logprob / math.log(10))
    digits = math.exp(logprob - power * math.log(10))
    if f"{digits:.1f}" == "10.0":
        digits, power = 1.0, power + 1
    return f"{digits:.1f} × 10^{power}".replace("-", "−")


def _times(gain: float) -> str:
    if gain >= math.log(1e6):
        return f"10^{gain / math.log(10):.0f}"
    return f"{math.exp(gain):,.0f}" if gain >= math.log(10) else f"{math.exp(gain):.1f}"


def _words(out: Console, text: str, width: int, style: str = "") -> None:
    from textwrap import wrap

    from rich.text import Text

    if out.options.ascii_only:
        text = "".join(_ASCII.get(character, character) for character in text)
    for line in wrap(text, width, break_on_hyphens=False) or [""]:
        out.print(Text(line, style=style), soft_wrap=True)
