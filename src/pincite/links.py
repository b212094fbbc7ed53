r"""Addresses in generated text that no source holds, taken out while it still streams in.

An answer that is shown as Markdown or HTML can send what it holds to a stranger: an image is fetched without a click,
and its address may carry the question. So images, tags that fetch or lead somewhere, and links and bare addresses that
do not stand in a source are made plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pincite.address_forms import address_at, as_followed, comparable, runs_something
from pincite.types import Alarm, Passage

__all__ = ["GONE", "LONGEST", "LinkFilter", "addresses", "standing_in"]

#: Stands in the place of an address that was taken out.
GONE = "(address removed)"
#: Most characters that are held back. A longer address is in no source; a longer link, tag or code span is none.
LONGEST = 2000

#: Of the longest alternative text of an image.
_LABEL = 300

_RUN = re.compile(r"[A-Za-z0-9+.\-_/@:&#;%~=?$*',\\^{}]+")
_DELIMITER = re.compile(r"""[\s<>"`\[\]|“”«»]""")
_TRAILING = re.compile(r"[.,;:!?'*_~]+\Z")
_SPACE = r"[ \t]*(?:\n[ \t]*)?"
_LINK = re.compile(
    rf"\]\({_SPACE}(?P<to><[^<>`\n]*>|[^\s<>()`]*(?:\([^\s<>()`]*\)[^\s<>()`]*)*)"
    rf"""(?:(?=[ \t\n]){_SPACE}(?:"(?:[^"`\n]|\n(?!\s*\n))*"|'(?:[^'`\n]|\n(?!\s*\n))*'|\([^()`\n]*\)))?{_SPACE}\)"""
)
# "[2](see below)": where it leads is harmless, whatever becomes of the rest.
_TO_A_WORD = re.compile(rf"\]\({_SPACE}(?:#[^\s()`]*|[\w-]+)[ \t\n]")
# "[name]: address" makes a link of every "[name]".
_DEFINITION = re.compile(rf"\]:{_SPACE}(?P<to>[^ \t\n]+)")
_IMAGE = re.compile(rf"!\[(?P<label>[^\[\]`]{{0,{_LABEL}}})\]")
_REFERENCE = re.compile(rf"\[[^\[\]`]{{0,{_LABEL}}}\]")
_NUMBER = re.compile(r"\s*\d{1,3}\s*")
_TAG = re.compile(r"""</?(?P<name>[a-zA-Z][a-zA-Z0-9-]*)(?P<rest>(?:[^<>"']|"[^"]*"|'[^']*')*)>""")
_TAG_ANYHOW = re.compile(r"</?(?P<name>[a-zA-Z][a-zA-Z0-9-]*)(?P<rest>[^>]*)>")
_AUTOLINK = re.compile(r"<([^\s<>]*)>")
_SCHEME = re.compile(r"<[a-z][a-z0-9+.-]{1,31}:", re.IGNORECASE)
_SOURCE = re.compile(r"""(?:src|href|srcset|action|data|poster|formaction|background)\s*=\s*["']?([^\s"'>]+)""", re.I)
# Tags that fetch something, lead somewhere, or run.
_ACTING = re.compile(
    "a|img|image|picture|source|video|audio|track|i?frame|frameset|object|embed|applet|script|style|link|meta|base|form|"
    "input|button|textarea|select|svg|math|map|area|body|html|portal|template|pre|xmp|plaintext|title|listing|noscript|"
    "noembed|noframes",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
# What others may read before they look for code: formulas, and fences of another kind.
_FORMULAS = re.compile(r"\$\$|\\[(\[]|~~~")
# Names inside a document, or plain words: what a reader's own page would make of them is no stranger's.
_HARMLESS = re.compile(r"#\S*|[\w-]*")


@dataclass
class LinkFilter:
    """Takes out of a text every address for which `allowed` is false.

    Feed it text in any pieces and call `finish` at the end: the joined output is the same for every way of cutting.
    No more than `LONGEST` characters are held back. Code is left alone: between back-quotes in one line, or in a fence
    of them at the beginning of a line, which reaches to the end where it is not closed, as in Markdown. Programs that
    show Markdown differ over what is code beside raw HTML, formulas, tables, lists and back-quotes without a partner:
    after any of those nothing counts as code until the next blank line, or to the end. `removed` collects what was
    taken out, as it stood.

    An image becomes its alternative text in any case. A link keeps its words. HTML tags that fetch, lead somewhere or
    have attributes are left out, their inside stays. Of a bare address ``(address removed)`` is left.

    >>> links = LinkFilter(allowed=lambda address: address == "https://a.org")
    >>> links.feed("See https://a.org and ![x](https://b.com/?q=") + links.feed("secret), [y](https://c.com).")
    'See https://a.org and (image: x), [y]'
    >>> links.finish(), links.removed
    ('.', ['https://b.com/?q=secret', 'https://c.com'])
    """

    allowed: Callable[[str], bool]
    removed: list[str] = field(default_factory=list)
    _held: str = ""
    _fence: int = 0  #: length of the run that opened the fence we are in; 0: in none
    _indent: int = 0  #: spaces since the line began; -1: something else stands there
    _blank: bool = True  #: only white space since the line began
    _last: str = ""  #: the last character written
    _escaped: bool = False  #: a backslash takes the next character's meaning away
    _doubtful: bool = False  #: nothing counts as code until the next blank line
    _no_code: bool = False  #: nor after it
    _dropping: bool = False  #: in the rest of an address that is too long

    def feed(self, text: str) -> str:
        """Take more text and give what can be decided."""
        self._held += text
        return self._drain(final=False)

    def finish(self) -> str:
        """No more text comes: give the rest."""
        return self._drain(final=True)

    def alarms(self) -> list[Alarm]:
        """What was taken out, for the answer: one alarm for each address."""
        return [
            Alarm("link", f"an address that stands in no source was taken out of the answer: {_shortened(each)}")
            for each in dict.fromkeys(self.removed)
        ]

    def _drain(self, *, final: bool) -> str:
        out: list[str] = []
        text, i = self._held, 0
        while i < len(text):
            step = self._fenced(text, i, final) if self._fence else self._step(text, i, final)
            if step is None:
                break
            end, written = step
            out.append(written)
            self._note(written)
            i = end
        self._held = text[i:]
        return "".join(out)

    def _note(self, written: str) -> None:
        """Keep where in its line what was written ends."""
        if not written:
            return
        for i, part in enumerate(written.split("\n")):
            if i:
                self._doubtful = self._doubtful and not self._blank
                self._indent, self._blank = 0, True
            if self._indent >= 0:
                self._indent = self._indent + len(part) if not part.strip(" ") else -1
            self._blank = self._blank and not part.strip(" \t")
        self._last = written[-1]
        slashes = len(written) - len(written.rstrip("\\"))
        self._escaped = (slashes % 2 == 1) != (slashes == len(written) and self._escaped)

    def _fenced(self, text: str, i: int, final: bool) -> tuple[int, str] | None:
        """The next piece of a fenced block; it ends with a line of at least as many back-quotes."""
        newline = text.find("\n", i)
        end = len(text) if newline < 0 else newline + 1
        line = text[i:end]
        if self._blank and self._indent == 0:
            may_close = re.fullmatch(r" {0,3}(`*)[ \t]*\n?", line)
            if newline < 0 and not final and may_close and len(line) < LONGEST:
                return None
            if may_close and len(may_close[1]) >= self._fence:
                self._fence = 0
        return end, line

    def _step(self, text: str, i: int, final: bool) -> tuple[int, str] | None:
        """The end of what can be decided next, and what is written for it; None: more text is needed."""
        character = text[i]
        if self._dropping:
            if not _DELIMITER.match(character):
                return i + 1, ""
            self._dropping = False
        if character == "`":
            return self._code(text, i, final)
        if character == "!":
            return self._image(text, i, final)
        if character == "]":
            return self._link(text, i, final)
        if character == "<":
            return self._tag(text, i, final)
        if _RUN.match(character):
            return self._run(text, i, final)
        return i + 1, character

    def _code(self, text: str, i: int, final: bool) -> tuple[int, str] | None:
        if self._escaped:
            return i + 1, "`"
        end = i
        while end < len(text) and text[end] == "`":
            end += 1
        complete = final or len(text) - i > LONGEST
        if end == len(text) and not complete:
            return None
        run = end - i
        if self._doubtful or self._no_code:
            self._no_code = self._no_code or run >= 3  # of a fence in doubt the end would be taken for a beginning
            return end, text[i:end]
        newline = text.find("\n", end, i + LONGEST)
        if run >= 3 and self._indent == 0:
            if newline < 0 and not complete and not re.search(r"[`|<]", text[end:]):
                return None
            until = newline + 1 if newline >= 0 else len(text) if final and len(text) - i <= LONGEST else end
            # Some read a line with "|" as a row of a table before they read it as a fence.
            if until > end and not re.search(r"[`|<]", text[end:until]):
                self._fence = run
                return until, text[i:until]
        line = text[end : newline if newline >= 0 else i + LONGEST]
        closing = re.search(rf"(?<!`)`{{{run}}}(?!`)", line)
        if closing is None and newline < 0 and not complete:
            return None
        if closing is not None and "|" not in line[: closing.start()]:
            # Whether the run goes on is seen only behind it.
            if end + closing.end() == len(text) and not complete:
                return None
            return end + closing.end(), text[i : end + closing.end()]
        self._doubtful, self._no_code = True, run >= 3
        return end, text[i:end]

    def _image(self, text: str, i: int, final: bool) -> tuple[int, str] | None:
        window, complete = _paragraph(text, i, final)
        if len(window) < 2 and not complete:
            return None
        if window[1:2] != "[":
            return i + 1, "!"
        image = _IMAGE.match(window)
        if image is None:
            may_go_on = not complete and len(window) < _LABEL + 3 and not re.search(r"[\[\]`]", window[2:])
            return None if may_go_on else (i + 2, "! [")
        behind = window[image.end() :]
        if not behind and not complete:
            return None
        label = " ".join(image["label"].split())
        shown = f"(image: {label})" if label else "(image)"
        if behind.startswith("("):
            link = _LINK.match(window, image.end() - 1)
            if link is None:
                return None if self._may_be_link(window, image.end(), complete) else (i + 2, "! [")
            self.removed.append(as_followed(link["to"]))
            return i + link.end(), self._inside(shown)
        if behind.startswith("["):
            reference = _REFERENCE.match(behind)
            if reference is None:
                may_go_on = not complete and len(behind) < _LABEL + 2 and not re.search(r"[\[\]`]", behind[1:])
                return None if may_go_on else (i + 2, "! [")
            if not _NUMBER.fullmatch(reference[0][1:-1]) or not _NUMBER.fullmatch(image["label"]):
                return i + image.end() + reference.end(), self._inside(shown)
        # "It ends![2]" is a marker.
        return (i + 1, "!") if _NUMBER.fullmatch(image["label"]) else (i + 2, "! [")

    def _may_be_link(self, window: str, opening: int, complete: bool) -> bool:
        """Whether what begins with this bracket may become a link when more text comes."""
        return not complete and "`" not in window[opening:]

    def _link(self, text: str, i: int, final: bool) -> tuple[int, str] | None:
        window, complete = _paragraph(text, i, final)
        if len(window) < 2 and not complete:
            return None
        if window[1:2] == ":":
            return self._definition(window, i, complete)
        if window[1:2] != "(":
            return i + 1, "]"
        if _TO_A_WORD.match(window):
            return i + 1, "]"
        link = _LINK.match(window)
        if link is not None:
            target = as_followed(link["to"])
            if self._may_lead_to(target):
                return i + link.end(), self._with_title(link)
            if link.end() == len(window) and not complete:
                return None
            self.removed.append(target)
            # No other destination may come to stand behind the words.
            return i + link.end(), "] " if window[link.end() : link.end() + 1] in ("(", "[", ":") else "]"
        # What is never closed, or oddly, must not become a link behind our back.
        return None if self._may_be_link(window, 1, complete) else (i + 1, "] ")

    def _definition(self, window: str, i: int, complete: bool) -> tuple[int, str] | None:
        """What gives a name to an address is made text; the address itself is looked at when it is its turn."""
        found = _DEFINITION.match(window)
        if not complete and (found is None or found.end() == len(window)):
            return None
        if found is None or (found["to"][0] != "<" and self._may_lead_to(as_followed(found["to"]))):
            return i + 2, "]:"
        whole = address_at(found["to"]) == 0 and not _DELIMITER.search(found["to"])
        return i + 2, "]:" if whole else "] :"

    def _may_lead_to(self, target: str) -> bool:
        return _HARMLESS.fullmatch(target) is not None or self.allowed(target)

    def _with_title(self, link: re.Match[str]) -> str:
        """A link that may stay, without a title in which something may not."""
        end = link.end("to") - link.start()
        title = link[0][end:-1]
        return link[0] if self._inside(title) == title else f"{link[0][:end]})"

    def _inside(self, text: str) -> str:
        """`text` without what may not stand in it; what is taken out is noted."""
        links = LinkFilter(self.allowed)
        shown = links.feed(text) + links.finish()
        self.removed += links.removed
        return shown

    def _tag(self, text: str, i: int, final: bool) -> tuple[int, str] | None:
        window, complete = _paragraph(text, i, final)
        if len(window) < 2 and not complete:
            return None
        if window[1:2] in ("!", "?"):
            return i + 1, "‹"
        if not re.match(r"</?[a-zA-Z]", window):
            return None if window == "</" and not complete else (i + 1, "<")
        if ">" not in window:
            return None if not complete else (i + 1, "‹")
        autolink = _AUTOLINK.match(window)
        if autolink is not None and address_at(autolink[1]) is not None:
            target = as_followed(autolink[1])
            if self.allowed(target):
                return i + autolink.end(), autolink[0]
            self.removed.append(target)
            return i + autolink.end(), GONE
        if _SCHEME.match(window):
            return i + 1, "‹"
        tag = _TAG.match(window)
        if tag is None:
            if not complete:
                return None
            tag = _TAG_ANYHOW.match(window)
        if tag is None or "`" in tag[0]:
            return i + 1, "‹"
        if not _ACTING.fullmatch(tag["name"]) and "=" not in tag["rest"]:
            self._doubtful = True
            return i + tag.end(), tag[0]
        if tag.end() == len(window) and not complete:
            return None
        source = _SOURCE.search(tag["rest"])
        if not tag[0].startswith("</"):
            self.removed.append(as_followed(source[1]) if source else tag[0])
        # What stood on both sides of it must not become one word.
        parted = not self._last.strip() or not window[tag.end() : tag.end() + 1].strip()
        return i + tag.end(), "" if parted else " "

    def _run(self, text: str, i: int, final: bool) -> tuple[int, str] | None:
        limit = i + LONGEST
        run = _RUN.match(text, i, limit)
        assert run is not None
        end = run.end()
        if end == len(text) and end < limit and not final:
            return None
        token = run[0]
        if _FORMULAS.search(text, i, end + 1):
            self._no_code = True
        if "$" in token:
            self._doubtful = True
        # "https://" and then letters of another script: that is an address too.
        beyond = text[end : end + 1]
        if address_at(token + beyond if beyond.isalnum() else token) is None:
            return end, token
        # An address goes on over letters of any script.
        stop = _DELIMITER.search(text, end, limit)
        if stop is None and len(text) < limit and not final:
            return None
        end = stop.start() if stop is not None else min(len(text), limit)
        too_long = stop is None and end == limit
        # The sign may be that of an image.
        end -= stop is not None and stop[0] == "[" and text[end - 1] == "!"
        token = text[i:end]
        found = address_at(token)
        assert found is not None
        before, address = token[:found], token[found:]
        bare = _TRAILING.sub("", address)
        while bare.endswith(")") and bare.count(")") > bare.count("("):
            bare = _TRAILING.sub("", bare[:-1])
        if not too_long and self.allowed(as_followed(bare)):
            return end, token
        self.removed.append(as_followed(bare))
        self._dropping = too_long
        return end, before + GONE + address[len(bare) :]


def _paragraph(text: str, i: int, final: bool) -> tuple[str, bool]:
    """What is looked at of `text` from `i` on, to the end of its paragraph, and whether no more of it will come."""
    window = text[i : i + LONGEST]
    if blank := _BLANK_LINE.search(window):
        return window[: blank.start() + 1], True
    return window, final or len(window) == LONGEST


def _shortened(address: str) -> str:
    return address if len(address) <= 80 else f"{address[:80]}…"


def addresses(text: str) -> list[str]:
    """The addresses that stand in `text`, in its order.

    >>> addresses("Write to a@b.org or see (https://c.org/d).")
    ['a@b.org', 'https://c.org/d']
    """
    found: list[str] = []

    def keep(address: str) -> bool:
        found.append(address)
        return True

    # The brackets of links part addresses as white space does.
    for piece in re.split(r"\]\(|[\s<>\"`\[\]|“”«»]+", text):
        links = LinkFilter(keep)
        links.feed(piece)
        links.finish()
    return found


def standing_in(passages: Iterable[Passage]) -> Callable[[str], bool]:
    """Whether an address stands in one of `passages`, or is that of its document; false for one that runs something."""
    known = set()
    for passage in passages:
        known.add(comparable(passage.uri))
        known.update(comparable(each) for each in addresses(passage.chunk.reading))
    known.discard("")
    return lambda address: comparable(address) in known and not runs_something(address)
