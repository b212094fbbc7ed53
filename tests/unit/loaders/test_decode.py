from __future__ import annotations

import codecs

import pytest

from pincite.errors import LoadError, UnsupportedFormatError
from pincite.loaders.decode import decode, looks_binary

WORD = "Überblick"
LONG = "Der Überblick über die Straße: größer, schöner, „Müller“ im Café."


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_wins_and_is_not_part_of_the_text(mark: bytes, codec: str) -> None:
    decoded = decode(mark + WORD.encode(codec))
    assert (decoded.text, decoded.encoding, decoded.detected, decoded.warnings) == (WORD, codec, False, ())


def test_utf8_needs_no_mark() -> None:
    assert decode(WORD.encode()).warnings == ()


@pytest.mark.parametrize("text", [WORD, LONG, "garçon", "naïve café", "It’s a “test” of § 5 – the naïve clause £100"])
def test_western_text_in_cp1252_is_detected_and_said_to_be(text: str) -> None:
    decoded = decode(text.encode("cp1252"))
    assert decoded.text == text
    assert decoded.detected
    assert decoded.warnings == ("encoding detected as cp1252: the file does not say",)


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("概要", "cp932"),
        ("概要：この文書は契約の条件を定める。甲と乙は", "cp932"),
        ("概要：この文書は契約の条件を定める。甲と乙は", "euc_jp"),
        ("合同概述本文件规定了双方的权利和义务", "gb18030"),
        ("合約概述本文件規定了雙方的權利和義務", "big5"),
        ("계약 개요 이 문서는 당사자의 권리와 의무를", "cp949"),
        ("Обзор договора между сторонами и прочее", "cp1251"),
        ("Обзор договора между сторонами и прочее", "koi8_r"),
        ("Επισκόπηση της σύμβασης μεταξύ των μερών", "cp1253"),
        ("Przegląd umowy między stronami, zażółć gęślą jaźń", "cp1250"),
    ],
)
@pytest.mark.parametrize("before", ["", "The contract begins on the first day of the month.\n" * 3000])
def test_other_encodings_are_detected_even_behind_much_ascii(text: str, codec: str, before: str) -> None:
    assert decode((before + text).encode(codec)).text == before + text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_not_read_with_letters_and_nul_interleaved(codec: str) -> None:
    decoded = decode(WORD.encode(codec))
    assert (decoded.text, decoded.encoding, decoded.detected) == (WORD, codec, True)


def test_a_declared_encoding_comes_after_utf8_and_before_detection() -> None:
    assert decode(WORD.encode(), "iso-8859-1").text == WORD
    assert decode("“ok”".encode("cp1252"), "iso-8859-1").text == "“ok”"
    assert decode("概要".encode("iso2022_jp"), "iso-2022-jp").text == "概要"


@pytest.mark.parametrize("label", ["zlib", "rot13", "hex", "no-such", "utf-16", "", "\x00", "x" * 500])
def test_a_declared_encoding_that_is_none_is_passed_over(label: str) -> None:
    assert decode(WORD.encode("cp1252"), label).text == WORD


def test_one_broken_byte_does_not_turn_utf8_into_something_else() -> None:
    decoded = decode((LONG * 5).encode() + b"\xff end")
    assert decoded.encoding == "utf-8"
    assert decoded.text.startswith(LONG)
    assert decoded.warnings == ("1 byte sequence could not be read as utf-8",)


def test_a_mark_the_bytes_contradict_is_an_error() -> None:
    with pytest.raises(LoadError):
        decode(codecs.BOM_UTF8 + b"\xff\xfe\xfd\xfc" * 50)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)),
        b"%PDF-1.7",
        b"PK\x03\x04",
        bytes(range(256)) * 4,
        b"\x00" * 100,
    ],
)
def test_binary_is_refused(data: bytes) -> None:
    assert looks_binary(data)
    with pytest.raises(UnsupportedFormatError, match="binary"):
        decode(data)


def test_a_log_with_a_stray_nul_is_still_text() -> None:
    data = b"line one of the log\n" * 50 + b"\x00\x1b[31mred\x1b[0m"
    assert not looks_binary(data)
    assert decode(data).text.endswith("\x1b[0m")
