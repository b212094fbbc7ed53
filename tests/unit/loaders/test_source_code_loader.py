"""Programs: the text as it stands, headings of classes and functions."""

from __future__ import annotations

import time

import pytest

from pincite.errors import NoTextError, UnsupportedFormatError
from pincite.loaders.source_code import SourceCodeLoader
from pincite.protocols import Source
from pincite.types import Document


def load(name: str, text: str | bytes) -> Document:
    data = text.encode() if isinstance(text, str) else text
    document = SourceCodeLoader().load(Source(f"/{name}", name, data))
    for heading in document.headings:
        assert heading.text in " ".join(document.text[heading.start : heading.end].split())
    return document


def headings(name: str, text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in load(name, text).headings]


PYTHON = '''"""Doc: def no(): pass"""
import os

@decorator(
    1)
class A(B):
    x = "def no(self): é"

    @property
    async  def run(self, a):
        def inner(): return "\\d"
        return inner

if os:
    def f(): pass
'''


def test_python_is_parsed() -> None:
    document = load("a.py", PYTHON)
    assert document.text == PYTHON
    assert document.metadata == {"language": "python"}
    assert document.title == "a.py"
    assert [(h.level, h.text) for h in document.headings] == [
        (1, "class A"),
        (2, "def run"),
        (3, "def inner"),
        (1, "def f"),
    ]
    first, second = document.headings[:2]
    assert document.text[first.start : first.end] == "@decorator(\n    1)\nclass A"
    assert document.text[second.start :].startswith("@property")


def test_python_that_cannot_be_parsed_is_read_by_line() -> None:
    text = 'print "x"\nclass A:\n    def f(self):\n        pass\ndef g(): pass\n'
    assert headings("a.py", text) == [(1, "class A"), (2, "def f"), (1, "def g")]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "A.java",
            "package a;\npublic final class Foo extends Bar {\n    public static int run(String a,\n        int b) {\n"
            "        if (x) { return y(); }\n        for (int i = 0; ; ) { g(i); }\n    }\n"
            "    interface Q { void z(); }\n}\n",
            [(1, "class Foo"), (2, "run"), (2, "interface Q")],
        ),
        (
            "a.c",
            "static int *add(int a)\n{\n  while (a) { b(); }\n  return (a);\n}\nint declared(void);\n"
            "struct s { int x; };\nint main(void) {\n}\n",
            [(1, "add"), (1, "struct s"), (1, "main")],
        ),
        (
            "a.ts",
            "export default class A {\n}\nexport async function b() {}\nconst c = 1;\nexport interface D {}\n",
            [(1, "class A"), (1, "function b"), (1, "interface D")],
        ),
        (
            "a.go",
            "package m\nfunc (s *Server) Run(x int) error {\n}\ntype A struct {}\nfunc main() {}\n",
            [(1, "func (s *Server) Run"), (1, "type A"), (1, "func main")],
        ),
        ("a.rs", "pub(crate) fn f() {}\nimpl A {\n    fn g(&self) {}\n}\n", [(1, "fn f"), (1, "impl A"), (2, "fn g")]),
        (
            "a.rb",
            "module M\n  class C\n    def m?(a)\n    end\n  end\nend\n",
            [(1, "module M"), (2, "class C"), (3, "def m?")],
        ),
        ("a.sql", "create function f() returns int;\nselect class from x;\n", []),
    ],
)
def test_other_languages(name: str, text: str, found: list[tuple[int, str]]) -> None:
    assert headings(name, text) == found


def test_the_text_is_exact() -> None:
    text = "\t// ünïcode   \n\n\n  int  x;  \n"
    assert load("a.c", text).text == text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.c", b"int " * 200_000),
        ("a.c", b"a " * 200_000 + b"("),
        ("a.c", b"int f(a)   \n" * 30_000),
        ("a.c", b"\n" * 300_000 + b"x"),
        ("a.c", b" " * 300_000 + b"x"),
        ("a.js", b"public " * 200_000),
        ("a.py", b"(" * 200_000),
        ("a.py", b"-" * 200_000 + b"1"),
        ("a.py", b"class A:\n def f(self):\n  pass\n" * 10_000),
    ],
)
def test_odd_files_take_linear_time(name: str, data: bytes) -> None:
    start = time.monotonic()
    assert load(name, data).text == data.decode()
    assert time.monotonic() - start < 15


def test_what_is_no_program() -> None:
    with pytest.raises(NoTextError):
        load("a.py", b" \n")
    with pytest.raises(UnsupportedFormatError):
        load("a.py", b"\x89PNG\r\n\x1a\n" + bytes(60))
