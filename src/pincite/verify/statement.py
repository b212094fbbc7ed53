"""What a sentence says an authority holds, apart from naming it and from the words that lead to it.

"In *A v. B* (1973) 4 SCC 225, this Court held that bail is the rule." says "bail is the rule" of the case. "The accused
was charged under section 302 IPC." says nothing of the section: that is a fact of the matter, and no source of law can
confirm it. Written for English; in other languages the whole sentence is compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pincite.words import content_words, has_content

__all__ = ["asserts", "goes_on", "only_cites", "statement_of"]

_SAID = (
    "held|observed|ruled|opined|noted|noticed|reiterated|affirmed|reaffirmed|declared|decided|concluded|stated|said|"
    "explained|clarified|cautioned|emphasi[sz]ed|stressed|remarked|pointed out|laid down|recogni[sz]ed|found|"
    "reminded|expressed the view|took the view|taken the view|summari[sz]ed|settled|established|laid"
)
_SAYS = (
    "holds|says|states|reads|provides|lays down|lays|prescribes|stipulates|punishes|defines|requires|empowers|confers|"
    "enables|bars|prohibits|mandates|declares|guarantees|protects|deals with|contemplates|imposes|obliges|"
    "authori[sz]es|entitles|permits|allows|enacts|creates|gives|grants|secures|ensures|directs|forbids|"
    "makes|sets out|speaks of|extends|excludes|saves|vests|casts|applies|envisages|postulates|enjoins|"
    "establishes|explains"
)
_COURT = (
    r"(?:(?:the|this|that|our|their|his|a)\s+)?(?:(?:hon['’]?ble|honou?rable|learned|apex|supreme|high|constitution|"
    r"division|full|same|larger|three[- ]judge|two[- ]judge)\s+)*"
    r"(?:court|bench|lordships?|tribunal|judges?|judgment|decision|ruling|magistrate)(?:\s+of\s+india)?"
)
_ADVERBS = (
    r"(?:\s*,?\s*(?:has|have|had|was|were|is|are|been|also|further|again|clearly|categorically|rightly|thus|therefore|"
    r"then|expressly|specifically|in\s+terms|inter\s+alia|authoritatively|consistently|held\s+and|while\s+\w+ing"
    r"\s+\w+))*\s*,?\s*"
)
_THAT = r"(?:\s*,?\s*(?:that|as\s+follows|as\s+under|thus|to\s+the\s+effect\s+that|inter\s+alia))*\s*[:,\-–—]*\s*"
#: What leads to the statement: "the Supreme Court held that", "it is settled that".
_LEADS = re.compile(
    rf"(?:\b(?:where|when|wherein|in\s+which)\b\s*)?(?:\b(?:{_COURT})|\bit|\bthey)\b{_ADVERBS}"
    rf"(?:well[- ])?\b(?:{_SAID})\b(?:\s+(?:in|by|down)\b)?\s*{_THAT}",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"\b(?:it|the law|the position)\s+(?:is|was|has been|stands)\s+(?:now\s+|also\s+|well[- ]|fairly\s+|trite\s*)*"
    r"(?:settled|established|trite|law|clear|beyond doubt)?(?:\s+law)?\s*(?:in|by|from|since)?\s*,?\s*that\b",
    re.IGNORECASE,
)
#: The verb that stands right behind the authority it is said of: "… provides that", "… holds".
_VERB_FIRST = re.compile(
    rf"\A[\s,;:()\[\]]*(?:(?:which|that|it)\s+)?(?:(?:clearly|expressly|further|also|specifically|itself|thus|inter "
    rf"alia)\s+)*(?:{_SAYS}|{_SAID})\b{_THAT}",
    re.IGNORECASE,
)
#: Verbs that carry meaning of their own stay in the statement: "punishes murder".
_TELLING = re.compile(
    r"punishes|defines|requires|empowers|confers|enables|bars|prohibits|guarantees|protects|imposes|authori[sz]es|"
    r"entitles|permits|allows|forbids|grants|vests|excludes|applies",
    re.IGNORECASE,
)
#: Words that point at a citation. One by one: a choice between "refer" and "refer to" could be made in too many ways.
_SIGNALS = (
    r"\b(?:see|also|vide|cf|compare|accord|refer|referred|to|relied|up|upon|on|reported|in|as|supra|ibid|e\.?g|and|or|with|"
    r"read|r/w|under|of|per|by|at|the|from|case|cases|decision|judgment|followed|affirmed|approved|paras?|paragraphs?|"
    r"pages?|pp?)\b"
)
#: "as held by the Apex Court in": what stands before a citation that is said to hold it.
_AS_HELD = re.compile(
    rf"\bas\s+(?:(?:was|has\s+been|is)\s+)?(?:{_SAID}|{_SAYS})\s*(?:by\s+{_COURT})?\s*(?:in|by|under)?\W*\Z",
    re.IGNORECASE,
)
_COURT_ALONE = re.compile(rf"\A\W*{_COURT}\W*\Z", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH},?\s+|{_MONTH}\s+\d{{1,2}},?\s+|\d{{1,2}}[./-]\d{{1,2}}[./-])?"
#: The date behind a citation belongs to it: ", decided on 4 April 1989", "(1989)".
_DATED = re.compile(
    rf"\A[*_]*[\s,]*[(\[]?\s*(?:(?:judge?ment|order|decision)?\s*(?:decided|dated|dt\.?|d/-|delivered|pronounced)\s*(?:on)?\s*)?"
    rf"{_DAY}(?:1[6-9]|20)\d\d\b\s*[)\]]?",
    re.IGNORECASE,
)
_ONLY_SIGNALS = re.compile(rf"(?:[\W\d_]|{_SIGNALS})*", re.IGNORECASE)
_BEFORE = re.compile(
    r"(?:\b(?:in\s+terms\s+of|within\s+the\s+meaning\s+of|by\s+virtue\s+of|in\s+the\s+(?:case|matter|decision|judgment)"
    r"\s+of|(?:the\s+)?(?:decision|judgment|ruling|case)s?\s+(?:in|of|reported\s+in)|pursuant\s+to|according\s+to|"
    r"as\s+per|reported\s+(?:in|as|at)|relying\s+(?:up)?on|reliance\s+on|following|under|u/s|vide|"
    r"see(?:\s+also)?|in|per|by|of|cf)\.?\s*|[(\[,;:]\s*)+\Z",
    re.IGNORECASE,
)
_RELIANCE = re.compile(
    r"\b(?:reliance|support|assistance)\s+(?:is|was|may be|can be|has been)\s+(?:\w+\s+)?(?:placed|drawn|had|sought)"
    r"\s*(?:up)?(?:on|from|to)?\s*[,:]?|\b(?:we|counsel|the (?:appellants?|petitioners?|respondents?|accused|state))"
    r"\s+(?:also\s+)?rel(?:y|ies|ied)\s*(?:up)?on\s*[,:]?",
    re.IGNORECASE,
)
_PARENTHESIS = re.compile(r"[(\[]\s*(?:" + _SIGNALS + r"|[\s,;.:/&\d-])*[)\]]", re.IGNORECASE)
_OPENING = re.compile(
    r"\A\W*(?:under|by virtue of|in terms of|as per|according to|by|in view of|pursuant to)\b", re.IGNORECASE
)
_REPORTS = re.compile(rf"\b(?:{_SAID}|{_SAYS})\b", re.IGNORECASE)
_PASSIVE = re.compile(rf"\bas\s+(?:was\s+|has\s+been\s+)?(?:{_SAID})\b", re.IGNORECASE)
#: What befell the parties, and what they argue: facts of the matter.
_FACTS = re.compile(
    r"\b(?:appellants?|accused|petitioners?|respondents?|prosecution|complainants?|plaintiffs?|defendants?|counsel|"
    r"fir|charge[- ]?sheet|trial court|sessions judge|investigating officer|applicants?|we)\b"
    r"(?:\s+\S+){0,5}?\s+(?:was|were|has been|have been|had been|stands?|came to be|argue[sd]?|submit(?:s|ted)?|"
    r"contend(?:s|ed)?|relie[sd]|rely|filed|moved|prefer(?:s|red)|urge[sd]?|placed|seeks?|prays?|faces?)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    rf"\A\W*(?:{_COURT}|it|they|(?:the|this|that|the said)\s+(?:section|provision|article|rule|proviso|sub-?section|"
    rf"clause))\b{_ADVERBS}(?:{_SAID}|{_SAYS})\b",
    re.IGNORECASE,
)
_MARK = re.compile(r"\[\^?\d{1,3}\]")
_ITEM = re.compile(r"\A\s*(?:[-*•>]+|\(?\d{1,3}[.)]|\([a-z]{1,3}\)|#{1,6})\s+(?=\S)")
_FRAMING = 5  #: words around a long quotation that merely lead to it: "the material part … is in these terms"
_LONG_QUOTE = 6  #: words from which on a quotation stands for itself


def goes_on(sentence: str) -> bool:
    """Whether a sentence that names no authority goes on about the last one: "The Court further held that …".

    >>> goes_on("It further observed that bail is the rule."), goes_on("The appeal should be allowed.")
    (True, False)
    """
    return _GOES_ON.match(sentence) is not None


def only_cites(rest: str) -> bool:
    """Whether nothing is left of a sentence without its citations but words that point at them.

    >>> only_cites("See also ; and ."), only_cites("Bail is the rule: see .")
    (True, False)
    """
    return _ONLY_SIGNALS.fullmatch(rest) is not None


def asserts(text: str, named: Sequence[tuple[int, int]], quoted: Sequence[tuple[int, int]] = ()) -> bool:
    """Whether a sentence says what an authority holds, and does not merely name it.

    `named` are the spans of the authorities in `text`, in order, `quoted` those of quotations.
    """
    bare = _without(text, [*named, *quoted], " § ")
    if _PASSIVE.search(bare):
        return True
    told = _LEADS.search(bare) or _SETTLED.search(bare)
    facts = _FACTS.search(bare) is not None
    for _, end in named:
        following = text[end:]
        if _VERB_FIRST.match(following):
            return True
    if told:
        return True
    if facts:
        return False
    if _REPORTS.search(bare):
        return True
    if named and _OPENING.match(text) and len(text[: named[0][0]].split()) <= 4:
        return True
    # "Murder is punished with death (s. 302 IPC)."
    last = text[named[-1][0] - 1 : named[-1][0]] if named and named[-1][0] else ""
    closes = bool(named) and not re.search(r"\w", _MARK.sub("", text[named[-1][1] :]))
    return closes and (last in "([" or re.search(r"\b(?:see|vide|cf)\W*\Z", text[: named[-1][0]], re.I) is not None)


def statement_of(text: str, named: Sequence[tuple[int, int]], quoted: Sequence[tuple[int, int]] = ()) -> str:
    """The words of a sentence that are to be held against its authorities; "" where there are none.

    `named` are the spans of the authorities in `text`, `quoted` those of quotations, without their marks: long ones
    are left out, since they are compared word for word.

    >>> said = "In A v. B, 1973, this Court held that bail is the rule."
    >>> statement_of(said, [(3, 16)])
    'bail is the rule.'
    """
    cut = sorted([*named, *((a, b) for a, b in quoted if len(text[a:b].split()) >= _LONG_QUOTE)])
    parts: list[str] = []
    position = 0
    for start, end in cut:
        if start < position:
            position = max(position, end)
            continue
        before = text[position:start]
        is_named = (start, end) in named
        if is_named:
            # What leads to a citation goes with it, but a bracket that opens before it stays to be closed.
            before = _AS_HELD.sub(" ", before.rstrip("*_"))
            before = _BEFORE.sub(lambda found: "(" if "(" in found.group() else " ", before)
            before = " " if _COURT_ALONE.match(before) else before
        parts.append(before)
        if is_named and (dated := _DATED.match(text[end : end + 80])):
            end += dated.end()
        following = text[end:]
        position = end
        if is_named and (verb := _VERB_FIRST.match(following)) and not _TELLING.search(verb.group()):
            position += verb.end()
    parts.append(text[position:])
    rest = " ".join(parts)
    rest = _MARK.sub(" ", rest)
    for _ in range(3):
        rest = _PARENTHESIS.sub(" ", rest)
    rest = _RELIANCE.sub(" ", _LEADS.sub(" ", _SETTLED.sub(" ", rest)))
    rest = _ITEM.sub("", rest)
    rest = re.sub(r"[(\[]\s*(?=[.,;]|\Z)|\(\s*\)|\[\s*\]", " ", rest)
    rest = re.sub(r"[\"“”«»„]\s*[\"“”«»„]", " ", rest)
    rest = re.sub(r"\A[\s,;:.()\]\-–—]*(?:(?:that|and|also|the\s+effect\s+that)\b[\s,:]*)*", "", rest)
    rest = re.sub(r"\s+([.,;:)])", r"\1", " ".join(rest.split()))
    rest = re.sub(r"(?:\s*[.;,:])*(\.)(?:\s*[.;,:])*\Z", r"\1", rest).strip(" ,;:-–—(")
    least = _FRAMING + 1 if len(cut) > len(named) else 2
    return rest if has_content(rest) and len(content_words(rest)) >= least else ""


def _without(text: str, spans: Sequence[tuple[int, int]], filler: str) -> str:
    parts, position = [], 0
    for start, end in sorted(spans):
        if start >= position:
            parts += [text[position:start], filler]
        position = max(position, end)
    return "".join([*parts, text[position:]])
