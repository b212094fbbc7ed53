"""Plain text and everything that is read as it stands: notes, logs, tables, data and source code."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from pincite.errors import NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.decode import decode
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.protocols import Source
from pincite.types import Document, Heading, MetadataValue

__all__ = ["TextLoader"]

_MEDIA_TYPES = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
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


class TextLoader:
    """Reads a text as it stands. An underlined title of a reStructuredText file is a heading.

    Trailing white space is kept; `clean` says which characters are not. The title is the first heading, or the
    file's name.
    """

    name = "text"
    suffixes = frozenset(_MEDIA_TYPES) | frozenset(_PLAIN.split())

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises UnsupportedFormatError for binary data, NoTextError for a file without a visible character.
        """
        decoded = decode(source.data)
        cleaned = clean(decoded.text)
        if not cleaned.text.strip():
            raise NoTextError("the file is empty" if not source.data else "the file holds no visible text")
        suffixes = [suffix.lower() for suffix in PurePosixPath(source.name).suffixes]
        headings = _underlined(cleaned.text) if ".rst" in suffixes else ()
        metadata: dict[str, MetadataValue] = {}
        if decoded.detected:
            metadata["encoding"] = decoded.encoding
        return Document(
            id=document_id(source.uri),
            text=cleaned.text,
            title=headings[0].text if headings else stem_title(source.name),
            uri=source.uri,
            media_type=_MEDIA_TYPES.get(suffixes[-1] if suffixes else "", "text/plain"),
            content_hash=content_hash(source.data),
            metadata=metadata,
            headings=headings,
            warnings=decoded.warnings + loss_warnings(cleaned.controls, cleaned.invisible),
        )


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
