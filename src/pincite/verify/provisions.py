"""Provisions that a text names: sections, articles, orders and rules, in lists and ranges, with the act they are of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pincite.verify.act_names import ActNamed, acts_named, match_act, meant
from pincite.verify.forms import from_roman
from pincite.verify.grammar import Grammar, Unit
from pincite.verify.records import Authority

__all__ = ["find_provisions"]

_NUMBER = r"\d{1,4}(?:\s?-\s?[A-Z]{1,2}(?![A-Za-z])|[A-Z]{1,3}(?![A-Za-z])|\s[A-H](?=\s+(?:of|read)\b))?"
_ROMAN = r"[IVXLC]{1,6}(?:-[A-Z])?"
_BELOW = r"(?:\s?\(\s?(?:\d{1,3}(?:-?[A-Z]{1,2})?|[ivx]{1,5}|[a-z]{1,2}|[A-Z]{1,2})\s?\))*"
_PART = r"(?:\s*,?\s*\(?\s?(?:[Pp]art|PART)[\s-]*(?:I{1,3}|1|2|[Ff]irst|[Ss]econd)\b(?:\s?\))?)?"
_ITEM = rf"(?P<number>{_NUMBER})(?P<below>{_BELOW}{_PART})"
_ABOVE = re.compile(
    r"(?:(?:[Ss]ub-?\s?)?(?:[Cc]lauses?|[Cc]l\.|[Ss]ub-?\s?[Ss]ections?|[Ss]ub-?\s?[Ss]s?\.|[Ss]ub-?\s?[Rr]ules?|[Pp]roviso|"
    r"[Ee]xplanation|[Ee]xception)\s*(?P<below>(?:\(\w{1,5}\)\s?|\d{1,2}\s)*)(?:of|to)\s+(?:the\s+)?)$"
)
#: Between the numbers of a list.
_JOINT = re.compile(
    r"\s*(?P<joint>,\s*(?:and|or|&)?|/|;|\band\b|&|\bor\b|\bto\b|[-–—]|,?\s*\(?\bread\s+with\b|,?\s*\(?r\s?[/.]\s?w\.?)\s*"
)
_NOT_COUNTED = re.compile(
    r"\s*(?:years?|months?|days?|others?|persons?|accused|witness(?:es)?|injur|per\s?cent|%|rupees|lakhs?|crores?|acres?|"
    r"metres?|feet|p\.?m\b|a\.?m\b|hours?|times|cases|appellants|respondents|SCC|SCR|SC\b|AIR|Indlaw|JJ?\.)",
)
_OF = re.compile(
    r"(?i:\s*,?\s*(?:\(?\s*(?:of|in|under|to|from)\s+)?(?:the\s+|that\s+|said\s+|aforesaid\s+|this\s+|our\s+)*)"
)
_OF_WORD = re.compile(
    r"\s*,?\s*(?:of|to|in|under)\s+(?:the\s+|this\s+|that\s+|said\s+|such\s+|our\s+|a\s+|an\s+|principal\s+|aforesaid\s+)*"
)
_ANAPHOR = re.compile(
    r"(?P<term>(?:\d{4}\s+)?(?:[A-Z][\w.]*\s+){0,3}(?:Act|Code|Constitution|Sanhita|Adhiniyam|Rules|Ordinance|Regulations))\b(?!\s*,?\s*\d{4})"
)
_OTHER = re.compile(
    r"(?P<what>(?:agreement|contract|lease|deed|scheme|treaty|convention|covenant|memorandum|articles|"
    r"declaration|notification|bye-?laws|by-?laws|policy|statutes?|rules|regulations|order|circular|charter|"
    r"Agreement|Contract|Lease|Deed|Scheme|Treaty|Convention|Covenant|Memorandum|Declaration|Charter|Policy))\b"
)
_US_CODE = re.compile(r"\b(\d{1,2})\s+U\.?\s?S\.?\s?C\.?(?:\s?A\.?)?\s*$")
_SAME = re.compile(r"\s*(?:thereof|ibid)\b")
_RULE = r"\s*,?\s*(?:[Rr]ules?|[Rr]\.|RULE)\s*(\d{1,3}[A-Z]?)"


@dataclass(frozen=True, slots=True)
class _Item:
    start: int
    end: int
    unit: str
    number: str
    below: str
    act: str | None = None  #: None: none is named with it
    joined: str = ""  #: what joins it to the one before


def find_provisions(text: str, grammar: Grammar) -> list[Authority]:
    """The provisions that `text` names, in order; each number of a list, and both ends of a range."""
    acts = acts_named(text, grammar)
    found: list[Authority] = []
    group: list[_Item] = []
    last = 0
    for match in _words(_key(grammar)).finditer(text):
        if match.start() < last:
            continue
        unit = _unit(match.group("word"), grammar)
        items, end = _items(text, match, unit)
        if not items:
            continue
        act, end = _act_after(text, end, acts, grammar)
        if act is None and (ahead := _act_before(text, items[0].start, acts)):
            act, begin = ahead
            items[0] = replace(items[0], start=begin)
        if act is not None:
            items = [replace(each, act=act) for each in items]
            items[-1] = replace(items[-1], end=end)
        joint = _joint_before(text, group, items[0])
        if group and not joint:
            found += _settled(text, group, acts, grammar)
            group = []
        group += [replace(items[0], joined=joint), *items[1:]]
        last = end
    found += _settled(text, group, acts, grammar)
    return found


def _key(grammar: Grammar) -> tuple[tuple[str, bool], ...]:
    return tuple((word, unit.roman) for unit in grammar.units.values() for word in unit.words)


@lru_cache(maxsize=8)
def _words(key: tuple[tuple[str, bool], ...]) -> re.Pattern[str]:
    """The word before a number, where a number follows."""
    patterns = []
    for word, roman in sorted(key, key=lambda each: -len(each[0])):
        number = rf"(?:\d|{_ROMAN}\b)" if roman else r"\d"
        bare = word.rstrip(".")
        if len(bare) > 2 and "/" not in word:
            made = rf"(?i:{re.escape(bare)}){'[.]?' if word.endswith('.') else ''}[\s-]{{0,3}}"
        elif "/" in word:
            made = rf"(?i:{re.escape(bare)})[\s.]{{0,3}}"
        elif bare in "§":
            made = r"§{1,2}\s*"
        else:
            # One or two letters need their full stop, or a number right after a hyphen: "S. 302", "s-9".
            made = rf"(?:{re.escape(bare)}|{re.escape(bare.capitalize())}|{re.escape(bare.upper())})(?:\.\s{{0,2}}|-)"
        patterns.append(rf"{made}(?:No\.?\s*)?(?={number})")
    # "u/s. 302" and "u/s 302", "u/art. 14" and "u/ss. 302".
    return re.compile(rf"(?<![\w.&§])(?:u/(?=[Ssa]))?(?P<word>{'|'.join(patterns)})")


def _unit(word: str, grammar: Grammar) -> Unit:
    plain = re.sub(r"[\s.\-]|No\.?", "", word).casefold()
    for unit in grammar.units.values():
        if plain in {each.rstrip(".").casefold() for each in unit.words}:
            return unit
    if plain.startswith("§"):
        return next(unit for unit in grammar.units.values() if "§" in unit.words)
    raise AssertionError(f"no unit has the word {word!r}")


def _items(text: str, match: re.Match[str], unit: Unit) -> tuple[list[_Item], int]:
    """The numbers after the word of a unit, and where the last ends."""
    item = re.compile(_ITEM if not unit.roman else rf"(?P<number>{_ROMAN}\b|{_NUMBER})(?P<below>{_BELOW})")
    first = item.match(text, match.end())
    if not first:
        return [], match.end()
    start, above = match.start(), ""
    if before := _ABOVE.search(text, max(0, start - 70), start):
        start, above = before.start(), before.group("below") or ""
        if outer := _ABOVE.search(text, max(0, start - 50), start):
            start, above = outer.start(), above + (outer.group("below") or "")
    if unit.below and not unit.roman:
        return [], match.end()
    if unit.roman:
        below = re.compile(_RULE).match(text, first.end())
        if not below:
            return [], match.end()  # "Order 5" alone is nothing of a code
        digits, _, letter = first.group("number").partition("-")
        number = f"{digits if digits[0].isdigit() else from_roman(digits)}{letter}"
        return [_Item(start, below.end(), unit.key, number, f"Rule {below.group(1)}")], below.end()
    items = [_item(start, first, unit, above)]
    end = first.end()
    while joint := _JOINT.match(text, end):
        following = item.match(text, joint.end())
        if not following or _NOT_COUNTED.match(text, following.end()) or _no_list(text, joint, following, items[-1]):
            break
        items.append(_item(following.start(), following, unit, "", joint.group("joint").strip()))
        end = following.end()
    return items, end


def _no_list(text: str, joint: re.Match[str], following: re.Match[str], before: _Item) -> bool:
    """Whether a number after a joint is none of the list: a year, a number of a report or of a date."""
    word = joint.group("joint").strip(" ,;")
    number = following.group("number")
    if word in ("-", "–", "—"):
        # 302-304 is a range; 302-34 may be two sections, but 1973-74 is not.
        return not (number.isdigit() and before.number.isdigit() and int(before.number) < int(number))
    if re.fullmatch(r"(?:1[6-9]|20)\d\d", number) and joint.group("joint").lstrip().startswith(","):
        return True
    return bool(re.match(r"\s?[.:]\s?\d|/\d{1,2}/\d{2}", text[following.end() : following.end() + 7]))


def _item(start: int, match: re.Match[str], unit: Unit, above: str, joined: str = "") -> _Item:
    number = re.sub(r"[\s-]", "", match.group("number"))
    below = re.sub(r"\s", "", match.group("below").split("art")[0].rstrip(" ,(pP")) if match.group("below") else ""
    if part := re.search(r"[Pp]art[\s-]*(\w+)|PART[\s-]*(\w+)", match.group("below") or ""):
        below += f" Part {part.group(1) or part.group(2)}"
    above = re.sub(r"\s", "", above)
    if above and not above.startswith("("):
        above = ""
    return _Item(start, match.end(), unit.key, number, (below + above).strip(), None, joined)


def _act_after(text: str, end: int, acts: Sequence[ActNamed], grammar: Grammar) -> tuple[str | None, int]:
    """The act that is named after a list of numbers, and where that ends; None where none is."""
    if same := _SAME.match(text, end):
        return "", same.end()
    of = _OF.match(text, end)
    assert of is not None
    at = of.end()
    if "\n\n" in text[end:at]:
        return None, end
    linked = bool(re.search(r"\b(?:of|in|under|to|from)\b", text[end:at], re.IGNORECASE))
    named = match_act(text, at, grammar)
    if named is not None and (linked or "." not in text[end:at]):
        return named.act, named.end
    if not linked:
        return None, end
    before = [each for each in acts if each.end <= end]
    if term := _ANAPHOR.match(text, at):
        word = term.group("term")
        # Where that is not clear it is nothing that was named before: "the Act" is no code.
        return meant(word, before, grammar) or meant(word.split()[-1], before, grammar) or f"the {word}", term.end()
    if (of_word := _OF_WORD.match(text, end)) and (other := _OTHER.match(text, of_word.end())):
        return f"the {other.group('what')}", other.end()
    defined = next((each for each in reversed(before) if each.term and text.startswith(each.term, at)), None)
    if defined is not None and not text[at + len(defined.term) : at + len(defined.term) + 1].isalnum():
        return defined.act, at + len(defined.term)
    return None, end


def _act_before(text: str, start: int, acts: Sequence[ActNamed]) -> tuple[str, int] | None:
    """The act that is named right before a provision, and where: ``IPC s. 302``, ``42 U.S.C. § 1983``."""
    if code := _US_CODE.search(text, max(0, start - 20), start):
        return f"{code.group(1)} U.S.C.", code.start()
    last = next((each for each in reversed(acts) if each.end <= start), None)
    if last is None or not re.fullmatch(r",?\s?", text[last.end : start]) or (last.kind and last.kind in last.act):
        return None
    return last.act, last.start


def _joint_before(text: str, group: Sequence[_Item], item: _Item) -> str:
    """What joins an item to the group before it: ``read with``; empty where nothing does."""
    if not group:
        return ""
    between = text[group[-1].end : item.start]
    match = re.fullmatch(
        r"\s*(?:,?\s*\(?\s*(?:when\s+)?(read\s+with|r\s?[/.]\s?w\.?|read\s+along\s+with)\s*(?:the\s+)?|(,|and|or|&|,\s*(?:and|or|&)|to|/)\s*)(?:under\s+|u/)?\s*",
        between,
    )
    return (match.group(1) or match.group(2)) if match else ""


def _settled(text: str, group: Sequence[_Item], acts: Sequence[ActNamed], grammar: Grammar) -> list[Authority]:
    """Authorities of provisions that are joined: those without an act have that of what follows, or of what is before.

    "302 read with 34 IPC": the act is named once, at the end. "302 IPC read with 34": it was named before.
    """
    named = [each.act for each in group]
    for i in range(len(group) - 1, -1, -1):
        if named[i] is None and i + 1 < len(group) and named[i + 1] and group[i].unit == group[i + 1].unit:
            named[i] = named[i + 1]
    for i in range(1, len(group)):
        if not named[i] and named[i - 1] and group[i].unit == group[i - 1].unit:
            named[i] = named[i - 1]
    found = []
    for item, act in zip(group, named, strict=True):
        unit = grammar.units[item.unit]
        chosen = act or _unnamed(text, item, unit, acts, grammar)
        found.append(
            Authority(
                "provision",
                item.start,
                item.end,
                text[item.start : item.end],
                act=chosen,
                unit=item.unit,
                provision=item.number,
                below=item.below,
            )
        )
    return found


def _unnamed(text: str, item: _Item, unit: Unit, acts: Sequence[ActNamed], grammar: Grammar) -> str:
    """The act of a provision that is named without one: the unit's own, or the only one that was spoken of."""
    if unit.act:
        return unit.act
    # What was spoken of is what was named in this paragraph or in the one before.
    paragraph = text.rfind("\n", 0, max(0, text.rfind("\n", 0, item.start))) + 1
    before = [
        each
        for each in acts
        if each.end <= item.start and (each.act not in grammar.acts or grammar.acts[each.act].unit == unit.key)
    ]
    near = {each.act for each in before if each.start >= paragraph}
    return near.pop() if len(near) == 1 else ""
