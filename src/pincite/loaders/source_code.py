"""Source code: the text as it stands, with a heading where a class or a function begins."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from itertools import accumulate
from pathlib import PurePosixPath

from pincite.errors import NoTextError
from pincite.loaders.clean import clean, collapse, loss_warnings
from pincite.loaders.decode import decode
from pincite.loaders.ids import content_hash, document_id, stem_title
from pincite.protocols import Source
from pincite.types import Document, Heading, MetadataValue

__all__ = ["SourceCodeLoader"]

_LANGUAGES = {
    ".py": "python",
    ".pyi": "python",
    ".pyw": "python",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".tsx"), "typescript"),
    ".java": "java",
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    ".scala": "scala",
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh"), "c++"),
    ".cs": "c#",
    ".go": "go",
    ".rs": "rust",
    ".swift": "swift",
    ".php": "php",
    ".rb": "ruby",
    ".lua": "lua",
    **dict.fromkeys((".pl", ".pm"), "perl"),
    **dict.fromkeys((".sh", ".bash", ".zsh"), "shell"),
    ".ps1": "powershell",
    ".r": "r",
    ".jl": "julia",
    **dict.fromkeys((".ex", ".exs"), "elixir"),
    ".sql": "sql",
}
_INDENT = r"^(?P<indent>[ \t]*)"
_PYTHON = re.compile(_INDENT + r"(?P<name>(?:async[ ]+)?(?:def|class)[ ]+\w+)", re.MULTILINE)
# A definition that begins with a word for what it is, behind words for who may see it.
_WORDED = re.compile(
    _INDENT + r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|async|open|data|"
    r"partial|override|virtual|pub(?:\([a-z]{1,10}\))?|unsafe|const|inline|local|suspend|case)[ ]+){0,6}"
    r"(?P<name>(?:class|interface|struct|enum|trait|impl|namespace|module|defmodule|object|protocol|extension|record|"
    r"union|type|function|func|fun|fn|def|defp|sub)\*?[ ]+(?:\([^()\n]{0,100}\)[ ]*)?[$\w][\w.:$<>?!]{0,100})",
    re.MULTILINE,
)
# A type, a name, parameters and an opening brace: a function of the C family. A statement has a word of control there.
_TYPED = re.compile(
    _INDENT + r"(?!(?:return|else|new|throw|if|for|while|switch|case|do|using|typedef|await|delete|catch|goto)\b)"
    r"(?:[\w<>\[\],.:]{1,60}[ *&]+){1,6}(?P<name>~?\w[\w:]{0,80})[ ]*\([^;{}()]{0,500}\)[^;{}()\n]{0,80}\s{0,3}\{",
    re.MULTILINE,
)
_CALLED_TYPED = frozenset({"java", "c", "c++", "c#"})
_WORDLESS = frozenset({"sql"})


class SourceCodeLoader:
    """Reads a program as it stands, so that a span points at characters of the file.

    Classes and functions are headings (``class Reader``, ``def load``), one below the other as they are nested. Those
    of Python are what its parser finds, decorators included, and where it finds none because the file is in another
    Python, the lines that look like it. Other languages are read line by line for the words that begin a definition
    (``class``, ``func``, ``impl`` …), and Java, C, C++ and C# for functions of theirs; what is nested deeper is what is
    indented more. The language is in the metadata. The title is the file's name.
    """

    name = "source-code"
    suffixes = frozenset(_LANGUAGES)

    def load(self, source: Source) -> Document:
        """The text of `source`.

        Raises UnsupportedFormatError for binary data, NoTextError for a file without a visible character.
        """
        decoded = decode(source.data)
        cleaned = clean(decoded.text)
        if not cleaned.text.strip():
            raise NoTextError("the file is empty" if not source.data else "the file holds no visible text")
        path = PurePosixPath(source.name.replace("\\", "/"))
        language = _LANGUAGES.get(path.suffix.lower(), "")
        metadata: dict[str, MetadataValue] = {"language": language} if language else {}
        if decoded.detected:
            metadata["encoding"] = decoded.encoding
        return Document(
            id=document_id(source.uri),
            text=cleaned.text,
            title=stem_title(source.name) + (path.suffix if path.suffix.isprintable() else ""),
            uri=source.uri,
            media_type=f"text/x-{language.replace('+', 'p').replace('#', 'sharp')}" if language else "text/plain",
            content_hash=content_hash(source.data),
            metadata=metadata,
            headings=tuple(_headings(cleaned.text, language)),
            warnings=decoded.warnings + loss_warnings(cleaned.controls, cleaned.invisible),
        )


def _headings(text: str, language: str) -> list[Heading]:
    if language == "python":
        found = _of_python(text)
        return _by_indent(text, (_PYTHON,)) if found is None else found
    if language in _WORDLESS:
        return []
    return _by_indent(text, (_WORDED, _TYPED) if language in _CALLED_TYPED else (_WORDED,))


def _of_python(text: str) -> list[Heading] | None:
    """The definitions in a module; None where it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the file's own style
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    headings: list[Heading] = []
    waiting: list[tuple[ast.AST, int]] = [(tree, 1)]
    while waiting:
        node, level = waiting.pop()
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            word = "class" if isinstance(node, ast.ClassDef) else "def"
            line = starts[node.lineno - 1]
            first = starts[min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1]
            # What stands between the word and the name may be more than a space.
            match = re.compile(rf"\b{word}\s+{re.escape(node.name)}").search(text, line, starts[node.lineno])
            if match is not None:
                while text[first] in " \t":
                    first += 1
                headings.append(Heading(level, collapse(match[0]), first, match.end()))
            level += 1
        waiting += [(child, level) for child in ast.iter_child_nodes(node)]
    headings.sort(key=lambda heading: heading.start)
    return headings


def _by_indent(text: str, patterns: tuple[re.Pattern[str], ...]) -> list[Heading]:
    matches = {match.start("name"): match for pattern in reversed(patterns) for match in pattern.finditer(text)}
    headings: list[Heading] = []
    open_indents: list[int] = []
    for start, end, indent, name in _found(matches):
        while open_indents and open_indents[-1] >= indent:
            open_indents.pop()
        open_indents.append(indent)
        headings.append(Heading(len(open_indents), name, start, end))
    return headings


def _found(matches: dict[int, re.Match[str]]) -> Iterator[tuple[int, int, int, str]]:
    last = -1
    for start in sorted(matches):
        match = matches[start]
        if start >= last:
            yield start, match.end("name"), len(match["indent"].expandtabs(4)), collapse(match["name"])
            last = match.end("name")
