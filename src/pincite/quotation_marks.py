"""Where a text quotes: words in quotation marks and block quotes.

Known are “ ”, " ", ‘ ’, ' ', « », ‹ ›, „ “, ‚ ‘, » «, 「 」, 『 』 and lines that begin with ``>``. An apostrophe is no
mark, nor is anything in code. A quotation within a quotation is a part of it. Fewer than three words in marks are a
term ("the “Termination Date”") or a name and claim no wording; in scripts without spaces, fewer than six characters.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import islice

from pincite.markers import CodeReader

__all__ = ["find_quotations"]

LEAST_WORDS = 3

_CLOSES = {"“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "›": "‹", "「": "」", "『": "』", "‚": "‘’", "‘": "’"}
_ALL = {"'", '"', *_CLOSES, *"".join(_CLOSES.values())}
#: Of each mark, itself and what may close it.
_PAIRS = {
    mark: re.compile(f"[{mark}{closing}]") for mark, closing in {**_CLOSES, '"': '"', "'": "’‘", "‘": "'’"}.items()
}
#: So many marks are looked at for the one that closes another.
_MOST = 64
_MARK = re.compile(f"[{''.join(sorted(_ALL))}]")
_BLOCK = re.compile(r"(?:^[ ]{0,3}>.*(?:\n|\Z))+", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
#: A line of a block quote that says who is quoted.
_CREDIT = re.compile(r"\n[ ]{0,3}>[ >]*(?:--+|[—–―]|-\s).*\Z")
_BLOCK_EDGE = re.compile(r"\A[\s>]+|[\s>]+\Z")
_EDGE = re.compile(r"\A\s+|(?:\s*\[\d{1,3}\])+\s*\Z|\s+\Z")
_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff]")
#: No quotation is longer: a mark that stands alone in a text of few paragraphs would take all of it. Single marks are
#: often apostrophes.
_LONGEST, _LONGEST_SINGLE = 20_000, 2_000
#: What an apostrophe may begin: "'tis", "rock 'n' roll", "the '90s", and by a slip "Gupta 's case".
_SHORTENED = re.compile(r"['’](?:s|tis|twas|twere|em|til|cause|cos|bout|round|n|\d0s)\b", re.IGNORECASE)


def find_quotations(text: str) -> list[tuple[int, int]]:
    """The words that `text` quotes, as half-open ranges without their marks, in order; none lies in another.

    Marks pair within a paragraph. Where one opens and none closes before the next paragraph, which begins with the same
    mark, the quotation goes on there, as books set it. Citation markers at the end of a quotation are no part of it,
    nor is a last line of a block quote that begins with a dash.

    >>> text = "It's “the only way out”, 'so to speak'."
    >>> [text[start:end] for start, end in find_quotations(text)]
    ['the only way out', 'so to speak']
    """
    coded = _coded(text)
    found: list[tuple[int, int]] = []
    position = 0
    for block in _BLOCK.finditer(text):
        if coded[block.start()]:
            continue
        found += _in_marks(text, position, block.start(), coded)
        found += _in_block(text, *block.span())
        position = block.end()
    found += _in_marks(text, position, len(text), coded)
    return [span for span in found if _quotes_words(text[span[0] : span[1]])]


def _coded(text: str) -> bytearray:
    coded = bytearray(len(text) + 1)
    if "`" in text:
        code = CodeReader()
        for i, character in enumerate(text):
            coded[i] = code.is_code(character)
    return coded


def _in_block(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The words of a block quote; marks around the whole of it are no part of them."""
    credit = _CREDIT.search(text[start:end].rstrip())
    if credit:
        end = start + credit.start()
    start, end = _cut(text, start, end, _BLOCK_EDGE)
    start, end = _cut(text, start, end, _EDGE)
    if start < end and text[end - 1] in _CLOSES.get(text[start], text[start] if text[start] == '"' else ""):
        start, end = start + 1, end - 1
    if start < end:
        yield start, end


def _in_marks(text: str, start: int, end: int, coded: bytearray) -> Iterator[tuple[int, int]]:
    begin = start
    goes_on = ""  # the mark of a quotation that the paragraph above left open
    for stop, after in [*(match.span() for match in _PARAGRAPH.finditer(text, start, end)), (end, end)]:
        next_mark = text[after : after + 1]
        goes_on = yield from _in_paragraph(text, begin, stop, coded, next_mark, goes_on)
        begin = after


def _in_paragraph(
    text: str, start: int, end: int, coded: bytearray, next_mark: str, goes_on: str
) -> Generator[tuple[int, int], None, str]:
    """Yields what is quoted, and returns the mark of what is left open."""
    position = start
    while match := _MARK.search(text, position, end):
        at = match.start()
        position = at + 1
        if coded[at] or not (_opens(text, at, start) or (goes_on and at == start)):
            continue
        close = _close(text, at, end, coded)
        if close is None:
            # Set over several paragraphs, each of which begins with the mark.
            if text[at] in '“«„‘"' and (text[at] == next_mark) and (at == start or text[at] in "“«„"):
                yield _cut(text, at + 1, end, _EDGE)
                return text[at]
            continue
        yield _cut(text, at + 1, close, _EDGE)
        position = close + 1
    return ""


def _opens(text: str, at: int, start: int) -> bool:
    mark = text[at]
    before = text[at - 1] if at > start else " "
    after = text[at + 1 : at + 2]
    if mark not in _PAIRS or (mark in "'‘" and _SHORTENED.match("'" + text[at + 1 : at + 10])):
        return False
    if mark in "「『":
        return True
    if not after or (after.isspace() and mark not in "«‹"):
        return False
    if mark in "“„":
        return True
    return not before.isalnum() or bool(_UNSPACED.match(before))


def _close(text: str, at: int, end: int, coded: bytearray) -> int | None:
    """Where the mark stands that closes the one at `at`."""
    mark = text[at]
    if mark in "'‘‚":
        return _close_single(text, at, end, coded)
    closing = _CLOSES.get(mark, mark)
    end = min(end, at + _LONGEST)
    depth = 0
    for match in islice(_PAIRS[mark].finditer(text, at + 1, end), _MOST):
        here = match.start()
        if coded[here]:
            continue
        if text[here] in closing and (mark not in '"«»‹›' or _may_close(text, here, mark)):
            if not depth:
                return here
            depth -= 1
        elif text[here] == mark and mark not in '"»›':
            depth += 1
    return None


def _may_close(text: str, at: int, mark: str) -> bool:
    """Whether a mark that is written like one that opens, or may stand off its words, can close."""
    if mark in "«‹":
        return True
    after = text[at + 1 : at + 2]
    return not text[at - 1].isspace() and not (after.isalnum() and not _UNSPACED.match(after))


def _close_single(text: str, at: int, end: int, coded: bytearray) -> int | None:
    """A single mark closes where no letter follows; "the tenants' rights" only where nothing better comes."""
    doubtful = None
    end = min(end, at + _LONGEST_SINGLE)
    for match in islice(_PAIRS["'"].finditer(text, at + 1, end), _MOST):
        here = match.start()
        after, before = text[here + 1 : here + 2], text[here - 1]
        if coded[here] or after.isalnum() or before.isspace():
            if before.isspace() and not coded[here] and doubtful is not None:
                break  # another one opens
            continue
        if before in "sS" and re.match(r"\s+[a-z]", text[here + 1 : end]):
            doubtful = here if doubtful is None else doubtful
            continue
        return here
    return doubtful


def _cut(text: str, start: int, end: int, edge: re.Pattern[str]) -> tuple[int, int]:
    """The range without what `edge` finds at either end."""
    piece = text[start:end]
    lead = next((match.end() for match in edge.finditer(piece) if match.start() == 0), 0)
    tail = next((match.start() for match in edge.finditer(piece, lead) if match.end() == len(piece)), len(piece))
    return start + lead, start + max(lead, tail)


def _quotes_words(words: str) -> bool:
    unspaced = len(_UNSPACED.findall(words))
    spaced = len(_WORD.findall(_UNSPACED.sub(" ", words)))
    return spaced + unspaced / 2 >= LEAST_WORDS
