"""Where sentences begin and end: by rules, for prose that people cite.

The rules are written for statutes, judgments and manuals in English, and know the full stops of the other
large scripts. They lean towards too few boundaries: a citation to two sentences is still right, half a sentence
is not.
"""

from __future__ import annotations

import re

__all__ = ["sentence_spans", "statement_spans"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that begin sentences far more often than they follow an abbreviation inside one. They decide the cases
# a full stop leaves open: "in the U.S. The court …" against "the U.S. Constitution".
_STARTERS = _words(
    """
    a according after all although an and another any are as at because before both but by can did do
    does during each every finally first for from furthermore had has have he hence her here his how
    however i if in indeed is it its many may moreover most my neither nevertheless no nor nothing
    notwithstanding now on once one only or other otherwise our provided second she should similarly
    since so some subject such that the their then there therefore these they this those though thus to
    under unless until upon was we were what whatever when whenever where whereas whether which while
    who whoever whosoever why with within without yet you your
    """
)
# Never the last word of a sentence: something always follows them.
_INSIDE = _words(
    """
    adv approx asst brig ca capt cf cmdr col cpl dr e.g eg gen gov hon i.e ie incl kum lt m/s maj messrs
    mr mrs ms mt mx prof pvt rep resp rev sen sgt shri smt sr sri st supt v vide viz vs
    """
)
# Before a number, a bracket or a numeral they point at something; otherwise they may end a sentence.
_REFERENCE = _words(
    """
    annex app appx apr arr art arts aug bk ch chap chs cl cls dec div eq eqn ex exh feb fig figs fn jan
    jul jun l ll mar n nn no nos nov o oct ord p para paras pg pp pt pts r reg regs rs rr s sch schs sec
    secs sep sept ser sl ss subsec tab vol vols
    """
)
# Of those, the ones that are English words as well.
_ALSO_WORDS = _words("annex arr art ex fig jan mar no tab")
# May end a sentence or not; the next word decides.
_OPEN = _words(
    """
    a.d a.k.a a.m admn al anr assn ave b.c bldg blvd bros co corp dept dist e.t.c ed eds est etc ft govt
    ibid id inc jj cj acj jr llc ltd ors p.m ph.d plc rd retd trans univ u.k u.n u.s u.s.a u.s.c op cit
    loc supp
    """
)

_TERMINATOR = re.compile(
    r"""
    (?P<wide>[。！？｡．।॥؟۔։።။។]+)            # end a sentence with or without a space after them
    | (?P<dots>\.(?:[ ]?\.)+ | …+\.?)            # an ellipsis
    | (?P<stop>[.!?][.!?…]*)
    """,
    re.VERBOSE,
)
# What still belongs to the sentence after its stop: closing quotes and brackets, and note marks.
_CLOSERS = re.compile(r"""(?:["'”’»›)\]}」』）】〉》〕]|\[\d{1,3}\]|[¹²³⁰-⁹])*""")
_SPACE = re.compile(r"\s*")
_OPENERS = re.compile(r"""["'“‘«‹(\[{「『（【〈《〔¿¡*_]*""")
_DASH = re.compile(r"""[ ]?[—–]+[ ]?(?=["“'‘]?[A-Z]|\(\d)""")
_WORD_BEFORE = re.compile(r"[^\W\d_]+(?:[./&][^\W\d_]+)*\Z")
_WORD = re.compile(r"[^\W\d_]+")
_NUMERAL = re.compile(r"(?:\d|[IVXLC]+\b|[A-Z]\b(?!\.))")
_ENUMERATOR_NEXT = re.compile(r"\((?:[a-z]{1,2}|[ivxlc]+|\d{1,3}[A-Z]?)\)\s")
# A sentence that so far is only its own number: "302.", "IV.", "Sec. 5.", "3.2."
_ENUMERATOR = re.compile(
    r"""
    ["“'‘\[(*_]*
    (?:(?:sections?|sec|articles?|art|rule|clause|chapter|part|order|regulation|schedule|s|§+)\.?\s*)?
    (?:\d{1,3}(?:[.\-]\d{1,3})*[A-Za-z]{0,2} | [ivxlcdm]+ | [a-z])
    [)*_]*
    """,
    re.VERBOSE | re.IGNORECASE,
)

# Lines that begin something new although no blank line stands before them.
_MARKER = re.compile(
    r"""
    (?: [-*•‣▪◦●] \s
      | \d{1,3}[A-Z]{0,2} (?:\.\d{1,3}[A-Z]?)* [.)] (?=\s|[—–])
      | [a-z]\) \s
      | Provided \s+ (?:that|further|also)\b
      | (?:Explanation|Illustration|Exception)s?\b \s* (?:\d+|[IVX]+)? \s* [.:—–]
    )
    """,
    re.VERBOSE,
)
_BRACKETED = re.compile(
    r"\((?:[a-zA-Z]{1,2}|[ivxlcdm]{1,6}|[IVXLC]{1,5}|\d{1,3}[A-Z]{0,2})\)(?=\s)(?!\s+(?:of|and|or|to)\b)"
)
# Lines that are a unit by themselves: table rows, headings, fences, rules, "CHAPTER IV".
_ALONE = re.compile(
    r"""
    (?: \| | \#{1,6}\s | ```|~~~ | ([=~*_\-])\1{2,}\s*\Z
      | (?:CHAPTER|PART|SCHEDULE|TITLE|ANNEX|APPENDIX)\s+(?:[IVXLC]+|\d+)[A-Z]?\.?\s*\Z
    )
    """,
    re.VERBOSE,
)
_ONE = re.compile(r"[ \t]*(?:\||#{1,6}\s)")
# A line that ends like this goes on: what looks like a list marker below it is the rest of a reference.
_REFERRING = re.compile(
    r"""
    \b(?: (?:sub-?)?(?:section|clause|rule|paragraph|para|article|regulation|item)s?
        | (?:order|part|chapter|schedule|entry|entries)
        | (?:ss?|cls?|arts?|secs?|nos?|paras?|rr?|pp?)\. )\Z
    | (?:\)|\d)[A-Za-z]?(?:,|\s+(?:and|or|to))\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Half-open ranges of the sentences of `text`, in order, none empty, without white space at either end.

    Every character that is not white space lies in exactly one of them. A blank line always ends a sentence;
    a single line break does not, unless the next line begins with a list marker or a proviso, or is a table row,
    a heading or a fence. A script that marks no sentences (Thai) gives one range for each paragraph. Time is
    linear in the length of `text`.

    >>> [("A v. B, s. 5. It was so.")[a:b] for a, b in sentence_spans("A v. B, s. 5. It was so.")]
    ['A v. B, s. 5.', 'It was so.']
    """
    spans: list[tuple[int, int]] = []
    for start, end in _segments(text):
        begin = start
        # A heading or a row of a table is one unit whatever stops are in it.
        for cut in () if _ONE.match(text, start, end) else _cuts(text, start, end):
            if span := _trim(text, begin, cut):
                spans.append(span)
            begin = cut
        if span := _trim(text, begin, end):
            spans.append(span)
    return spans


def _segments(text: str) -> list[tuple[int, int]]:
    """Ranges that no sentence crosses: paragraphs, list items, table rows, headings."""
    segments: list[tuple[int, int]] = []
    begin = position = 0
    before = ""  # how the line above ends
    alone = False
    while position < len(text):
        newline = text.find("\n", position)
        after = len(text) if newline < 0 else newline + 1
        # A line can be the whole document: only its ends are looked at.
        head = text[position : min(after, position + 120)].lstrip()
        blank = not head and (after - position <= 120 or text[position:after].isspace())
        is_alone = not blank and _ALONE.match(head) is not None
        if position > begin and (blank or alone or is_alone or _begins_item(head, before)):
            segments.append((begin, position))
            begin = position
        alone = is_alone or blank
        before = text[max(position, after - 40) : after].rstrip()
        position = after
    if begin < len(text):
        segments.append((begin, len(text)))
    return segments


def _begins_item(head: str, before: str) -> bool:
    return bool((_MARKER.match(head) or _BRACKETED.match(head)) and not _REFERRING.search(before))


def _cuts(text: str, start: int, end: int) -> list[int]:
    """Positions inside one segment where a sentence ends, its closing marks included."""
    cuts: list[int] = []
    begin = start
    for match in _TERMINATOR.finditer(text, start, end):
        if match.start() < begin:
            continue
        closers = _CLOSERS.match(text, match.end(), end)
        stop = closers.end() if closers else match.end()
        if stop >= end:
            break
        if match.group("wide"):
            cut = stop if _wide_ends(text, match, stop) else None
        else:
            cut = _spaced_end(text, match, begin, stop, end)
        if cut is not None and cut > begin:
            cuts.append(cut)
            begin = cut
    return cuts


def _wide_ends(text: str, match: re.Match[str], stop: int) -> bool:
    following = text[stop]
    if match.group().endswith("．") and following.isalnum():
        return following.isalpha() and not following.isascii()
    # 「行く。」と言った: hiragana after a closing bracket carries the sentence on.
    return not (stop > match.end() and "ぁ" <= following <= "ゟ")


def _spaced_end(text: str, match: re.Match[str], begin: int, stop: int, end: int) -> int | None:
    """Where the sentence ends if the mark in `match` ends it: it needs white space, or dash and capital."""
    if not text[stop].isspace():
        # "Punishment for murder.—Whoever …": the marginal note of a statute runs into its text.
        dash = _DASH.match(text, stop, end) if match.group() == "." else None
        if dash is None or _ENUMERATOR.fullmatch(text[max(begin, stop - 40) : stop - 1].strip()):
            return None
        return dash.end()
    space = _SPACE.match(text, stop, end)
    next_at = space.end() if space else stop
    if next_at >= end:
        return None
    openers = _OPENERS.match(text, next_at, end)
    word_at = openers.end() if openers else next_at
    following = text[word_at] if word_at < end else ""
    if following.islower() and not _ENUMERATOR_NEXT.match(text, next_at, end):
        return None
    if match.group() != ".":
        return stop
    return None if _abbreviates(text, begin, match.start(), next_at, word_at, end) else stop


def _abbreviates(text: str, begin: int, dot: int, next_at: int, word_at: int, end: int) -> bool:
    """Whether the full stop at `dot` belongs to the word before it and the sentence goes on."""
    if dot - begin <= 40 and _ENUMERATOR.fullmatch(text[begin:dot].strip()):
        return True
    before = _WORD_BEFORE.search(text[max(begin, dot - 24) : dot])
    if before is None:
        return False
    word = before.group()
    low = word.lower()
    if low in _INSIDE:
        return True
    match = _WORD.match(text, word_at, end)
    starts = match is not None and match.group().lower() in _STARTERS
    if low in _REFERENCE and (text[next_at] in "(§" or _NUMERAL.match(text, word_at, end)):
        return not (starts and match is not None and len(match.group()) > 1)
    if low in _REFERENCE and low not in _ALSO_WORDS and len(low) > 1:
        return not starts
    initial = len(word) == 1 and word.isupper() and word != "I"
    dotted = "." in word and all(len(part) <= 2 for part in word.split("."))
    return (low in _OPEN or initial or dotted) and not starts


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


#: A marginal note has no more words than this.
_NOTE_WORDS = 20


def statement_spans(text: str) -> list[tuple[int, int]]:
    """`sentence_spans` with every lead-in joined to the sentence it leads into.

    A sentence that ends with a dash or a colon says nothing by itself: the marginal note of a section ("302. Punishment
    for murder.—"), the words before a list ("It must hold:"). What is quoted and cited takes the next sentence along.
    A long sentence that ends with a dash is one of a row that old statutes set apart so, and stands for itself.

    >>> [text[a:b] for text in ["302. Punishment.—Whoever kills dies. Else not."] for a, b in statement_spans(text)]
    ['302. Punishment.—Whoever kills dies.', 'Else not.']
    """
    joined: list[tuple[int, int]] = []
    open_ended = False
    for start, end in sentence_spans(text):
        # A blank line is not led across: what ends there was a heading.
        if open_ended and "\n\n" not in text[joined[-1][1] : start]:
            joined[-1] = (joined[-1][0], end)
            open_ended = False
        else:
            joined.append((start, end))
            last = text[end - 1]
            open_ended = last == ":" or (last in "—–-" and len(text[start:end].split()) <= _NOTE_WORDS)
    return joined
