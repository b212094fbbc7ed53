"""Markdown: the source as it stands, with its headings."""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate, pairwise

from markdown_it import MarkdownIt

from pincite.errors import LoadError, NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.decode import decode
from pincite.loaders.hidden import Hidden, cut_comments, tag_words
from pincite.loaders.hypertext_hiding import PLAIN, declarations, hiding, looked
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.protocols import Source
from pincite.types import Document, Heading, MetadataValue

__all__ = ["MarkdownLoader"]

_KEY = re.compile(r"([A-Za-z_][\w .-]*?)\s*:(?:\s+(.*))?")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9]\d*)\.\d+")
# A value in quotes, and a comment behind it.
_QUOTED = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')\s*(?:#.*)?""")
_ITEM = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,"'][^,]*)\s*(?:,|$)""")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n)[\s\S]){1,2000}?(?<!`)\1(?!`)")
# An element that says of itself that it is not shown, or how it looks.
_HIDING = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)(?=\s)(?=[^>]{0,500}\s(?:hidden\b|style\s*=))[^>]{0,500}>")
_STYLE = re.compile(r"""style\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_NOTHING = frozenset({"", "~", "null", "[]"})


class MarkdownLoader:
    """Reads Markdown. The text is the source itself, so that what is cited reads as it is written.

    Headings are those that a Markdown parser finds (underlined or with ``#``, never inside a code fence) at the top
    level: one inside a quotation or a list does not govern what follows it. A heading's span holds its ``#`` marks or
    underline, which belong to it and to no chunk before it; its `text` does not.

    YAML front matter is taken out of the text, because what stays in is searched and cited, and put into the
    metadata: ``key: value`` pairs with plain values and lists of plain values (joined with ", "). A date stays as it is
    written, and a key without a value (``null``, ``[]``) is none. Other keys are left out with a warning. The title is
    the front matter's ``title``, or the first heading of level 1, or the first heading, or the file's name.

    What a page made of the file does not show is taken out as well: HTML comments, which are counted in a warning, and
    elements that are hidden by their own attributes, which are told. In code both are text.
    """

    name = "markdown"
    suffixes = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"})

    def load(self, source: Source) -> Document:
        """The Markdown of `source`.

        Raises UnsupportedFormatError for binary data, NoTextError when nothing is left beside front matter.
        """
        decoded = decode(source.data)
        cleaned = clean(decoded.text)
        metadata, text, doubts = _front_matter(cleaned.text)
        hidden = Hidden()
        tag_words(decoded.text, hidden)
        text, comments = _shown(text, hidden)
        if comments:
            doubts += (f"{comments} comment{'s' if comments > 1 else ''} not read",)
        if not text.strip():
            raise NoTextError("the file is empty" if not source.data else "the file holds no visible text")
        headings = _headings(text)
        title = metadata.get("title")
        first = next((heading for heading in headings if heading.level == 1), headings[0] if headings else None)
        if decoded.detected:
            metadata["encoding"] = decoded.encoding
        return Document(
            id=document_id(source.uri),
            text=text,
            title=str(title) if title else first.text if first else stem_title(source.name),
            uri=source.uri,
            media_type="text/markdown",
            content_hash=content_hash(source.data),
            metadata=metadata,
            headings=headings,
            warnings=decoded.warnings + loss_warnings(cleaned.controls, cleaned.invisible) + doubts + hidden.warnings(),
        )


def _shown(text: str, hidden: Hidden) -> tuple[str, int]:
    """`text` without comments and hidden elements, and how many comments there were."""
    if "<" not in text or not ("<!--" in text or _HIDING.search(text)):
        return text, 0
    text, comments = cut_comments(text, _code(text), hidden)
    code = _code(text) if _HIDING.search(text) else []
    parts: list[str] = []
    position = 0
    for match in _HIDING.finditer(text):
        start = match.start()
        if start < position or any(a <= start < b for a, b in code):
            continue
        style = declarations(_STYLE.search(match[0])[1]) if _STYLE.search(match[0]) else {}  # type: ignore[index]
        look, _ = looked(PLAIN, style, {}, match[1].lower(), whole=True).veil
        why = "attribute hidden" if re.search(r"\shidden\b", match[0]) else hiding(style, inline=True) or look
        end = text.lower().find(f"</{match[1].lower()}>", match.end())
        if not why or end < 0:
            continue
        hidden.note(why, _TAG.sub(" ", text[match.end() : end]))
        hidden.shown()
        parts.append(text[position:start])
        position = end + len(match[1]) + 3
    return "".join([*parts, text[position:]]), comments


def _code(text: str) -> list[tuple[int, int]]:
    """Where code stands: blocks of it, and what is between back-quotes."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    try:
        tokens = _parser().parse(text)
    except (RecursionError, IndexError, ValueError) as error:
        raise LoadError(f"the Markdown could not be parsed: {error}") from error
    blocks = [
        (starts[token.map[0]], min(starts[token.map[1]], len(text)))
        for token in tokens
        if token.type in ("fence", "code_block") and token.map is not None
    ]
    return blocks + [match.span() for match in _SPAN.finditer(text)]


@cache
def _parser() -> MarkdownIt:
    # Only block structure is wanted: inline parsing would be work thrown away.
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _headings(text: str) -> tuple[Heading, ...]:
    try:
        tokens = _parser().parse(text)
    except (RecursionError, IndexError, ValueError) as error:
        raise LoadError(f"the Markdown could not be parsed: {error}") from error
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    headings: list[Heading] = []
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.level != 0 or token.map is None:
            continue
        begin, end = starts[token.map[0]], min(starts[token.map[1]], len(text))
        words = collapse(inline.content)
        if not words:
            continue
        block = text[begin:end]
        start = begin + len(block) - len(block.lstrip())
        headings.append(Heading(int(token.tag[1:]), words, start, start + len(block.strip())))
    return tuple(headings)


def _front_matter(text: str) -> tuple[dict[str, MetadataValue], str, tuple[str, ...]]:
    """The metadata at the head of `text`, the text after it, and warnings about keys left out.

    A block between two ``---`` lines that does not look like keys and values is text: two rules with prose between.
    """
    if not text.startswith("---"):
        return {}, text, ()
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, text, ()
    close = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not close:
        return {}, text, ()
    metadata: dict[str, MetadataValue] = {}
    nested: dict[str, None] = {}
    items: dict[str, list[str]] = {}
    key = ""
    for line in lines[1:close]:
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        match = None if line[0].isspace() else _KEY.fullmatch(line.rstrip())
        if match is not None:
            key = match[1]
            value = (match[2] or "").strip()
            if value.startswith("#"):
                value = ""
            if value[:1] in ("|", ">", "&", "*", "!", "{"):
                nested[key] = None
            elif value and value.split(" #", 1)[0].rstrip().lower() not in _NOTHING:
                metadata[key] = _scalar(value)
        elif not key:
            return {}, text, ()
        elif bare.startswith("- ") and key not in metadata and key not in nested and _is_plain(bare[2:].strip()):
            items.setdefault(key, []).append(str(_scalar(bare[2:].strip())))
        elif line[0].isspace() or bare.startswith("-"):
            nested[key] = None
        else:
            return {}, text, ()
    for name, values in items.items():
        if name not in nested:
            metadata[name] = ", ".join(values)
    for name in nested:
        metadata.pop(name, None)
    warnings = (f"front matter left out: {', '.join(nested)} (nested)",) if nested else ()
    return metadata, "\n".join(lines[close + 1 :]).lstrip("\n"), warnings


def _is_plain(item: str) -> bool:
    return _QUOTED.fullmatch(item) is not None or ": " not in item


def _scalar(value: str) -> MetadataValue:
    quoted = _QUOTED.fullmatch(value)
    if quoted is not None:
        if quoted[1] is not None:
            return re.sub(r"\\(.)", r"\1", quoted[1])
        return quoted[2].replace("''", "'")
    value = value.split(" #", 1)[0].rstrip()
    if value.startswith("[") and value.endswith("]"):
        return ", ".join(str(_scalar(item.strip())) for item in _ITEM.findall(value[1:-1]) if item.strip())
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if _INTEGER.fullmatch(value):
        return int(value)
    if _FLOAT.fullmatch(value):
        return float(value)
    return value
