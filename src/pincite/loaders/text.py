"""Plain text and everything that is read as it stands: notes, logs, tables, data and source code."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from pincite.errors import NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.decode import decode
from pincite.loaders.hidden import Hidden, tag_words
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.loaders.statute_text import read_statute
from pincite.protocols import Source
from pincite.types import Document, Heading, MetadataValue

__all__ = ["TextLoader"]

_MEDIA_TYPES = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/jsonl",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".xml": "application/xml",
    ".rst": "text/x-rst",
    ".tex": "text/x-tex",
    ".org": "text/x-org",
}
_PLAIN = (
    ".txt .text .log .ini .cfg .conf .properties .env .bib .srt .vtt .diff .patch .adoc .asciidoc .sql .graphql "
    ".py .pyi .rb .pl .pm .php .lua .r .jl .m .sh .bash .zsh .fish .ps1 .bat .c .h .cc .cpp .cxx .hpp .hh .cs "
    ".java .kt .kts .scala .go .rs .swift .zig .d .f90 .pas .hs .ml .mli .fs .ex .exs .erl .clj .lisp .el .scm "
    ".js .mjs .cjs .jsx .ts .tsx .vue .svelte .css .scss .less .proto .tf .cmake .gradle .dockerfile .mk"
)
# What reStructuredText allows as an underline; `=` to `~` are the ones in use.
_UNDERLINE = re.compile(r"([!-/:-@[-`{-~])\1+")
#: Where a text says nothing of its markup, these underline a title.
_RULE = re.compile(r"([*=~^+#-])\1{2,}")
_COLUMNS = re.compile(r"\t|\S {2,}\S| \| ")
#: Names under which people write; what others hold, a log or a script, has rules for other reasons.
_WRITTEN = frozenset({"", ".txt", ".text", ".adoc", ".asciidoc"})
_LONGEST_TITLE = 200
_LEAST_TITLES = 3
_AGREEMENT = 0.8  #: share of the rules below a line that are as long as it


class TextLoader:
    """Reads a text as it stands. An underlined title is a heading.

    In a reStructuredText file by the rules of that format. In plain text where the line below a title is a row of one
    mark of exactly its length, with blank lines around the two, and where at least three titles are set so and hardly
    any rule stands below a line otherwise: there the text is written by that habit, elsewhere rules are ornaments and
    parts of tables. An act in plain text has its chapters and sections for headings, see `read_statute`.

    Trailing white space is kept; `clean` says which characters are not. The title is the first heading, in plain text
    only if the text begins with it, or the name of the act, or the file's name.
    """

    name = "text"
    suffixes = frozenset(_MEDIA_TYPES) | frozenset(_PLAIN.split())

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises UnsupportedFormatError for binary data, NoTextError for a file without a visible character.
        """
        decoded = decode(source.data)
        cleaned = clean(decoded.text)
        hidden = Hidden()
        tag_words(decoded.text, hidden)
        if not cleaned.text.strip():
            raise NoTextError("the file is empty" if not source.data else "the file holds no visible text")
        suffixes = [suffix.lower() for suffix in PurePosixPath(source.name).suffixes]
        suffix = suffixes[-1] if suffixes else ""
        headings, title = _structure(cleaned.text, suffix, ".rst" in suffixes)
        metadata: dict[str, MetadataValue] = {}
        if decoded.detected:
            metadata["encoding"] = decoded.encoding
        return Document(
            id=document_id(source.uri),
            text=cleaned.text,
            title=title or stem_title(source.name),
            uri=source.uri,
            media_type=_MEDIA_TYPES.get(suffix, "text/plain"),
            content_hash=content_hash(source.data),
            metadata=metadata,
            headings=headings,
            warnings=decoded.warnings + loss_warnings(cleaned.controls, cleaned.invisible) + hidden.warnings(),
        )


def _structure(text: str, suffix: str, restructured: bool) -> tuple[tuple[Heading, ...], str]:
    """Headings and title; "" where the text does not give one."""
    if restructured:
        headings = _underlined(text)
        return headings, headings[0].text if headings else ""
    if suffix not in _WRITTEN:
        return (), ""
    headings, title = read_statute(text)
    if not headings:
        headings = _plainly_underlined(text)
        title = headings[0].text if headings and not text[: headings[0].start].strip() else ""
    return headings, title


def _underlined(text: str) -> tuple[Heading, ...]:
    """Titles of a reStructuredText file, with levels in the order in which their styles first occur."""
    headings: list[Heading] = []
    styles: list[str] = []
    offset = 0
    before, title, title_start = "", "", 0
    for line in text.split("\n"):
        rule = line.rstrip()
        shown = title.strip()
        if (
            _UNDERLINE.fullmatch(rule)
            and shown
            and len(rule) >= len(title.rstrip())
            and not _UNDERLINE.fullmatch(shown)
        ):
            over = before.rstrip() == rule
            # Without a line above, an indented line is a quotation, and one after another line is a table or prose.
            if over or (not title[0].isspace() and not before.strip()):
                style = rule[0] * (2 if over else 1)
                if style not in styles:
                    styles.append(style)
                start = title_start + len(title) - len(title.lstrip())
                headings.append(Heading(styles.index(style) + 1, collapse(shown), start, start + len(shown)))
        before, title, title_start = title, line, offset
        offset += len(line) + 1
    return tuple(headings)


def _plainly_underlined(text: str) -> tuple[Heading, ...]:
    """Titles of a plain text; none where it is not written by the habit. Levels as in `_underlined`."""
    found: list[tuple[str, int, int]] = []  # mark, start, end
    others = 0
    offset = 0
    above, title, title_start = "", "", 0
    rule = ""  # the line before, where it may underline the title above it
    for line in [*text.split("\n"), ""]:
        shown = line.rstrip()
        if rule:
            # The line below the rule decides.
            if not shown and not above and len(rule) == len(title) and _is_title(title):
                found.append((rule[0], title_start, title_start + len(title)))
            else:
                others += 1
            above, title = title, rule
        if not rule and title and _RULE.fullmatch(shown):
            rule = shown
        else:
            rule = ""
            above, title, title_start = title, shown, offset
        offset += len(line) + 1
    if len(found) < _LEAST_TITLES or len(found) < _AGREEMENT * (len(found) + others):
        return ()
    styles = list(dict.fromkeys(mark for mark, _, _ in found))
    return tuple(Heading(styles.index(mark) + 1, collapse(text[start:end]), start, end) for mark, start, end in found)


def _is_title(line: str) -> bool:
    return (
        not line[0].isspace()
        and len(line) <= _LONGEST_TITLE
        and any(map(str.isalpha, line))
        and not _COLUMNS.search(line)
        and not line.endswith((",", ";", ":"))
    )
