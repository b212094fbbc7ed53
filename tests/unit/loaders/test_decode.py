from __future__ import annotations

import bz2
import codecs

import pytest

from pincite.errors import LoadError, UnsupportedFormatError
from pincite.loaders.decode import Decoded, decode, decode_as, looks_binary

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


@pytest.mark.parametrize(
    "text",
    ["ID3 tags name the song.\n", "RIFF is a container.\n", "BZh begins a bzip2 file\n", "GIF89a, a format\n"],
)
def test_a_text_about_a_format_is_not_taken_for_it(text: str) -> None:
    assert decode(text.encode()).text == text


@pytest.mark.parametrize(
    "data",
    [
        b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!",
        b"RIFF\x24\x08\x00\x00WAVEfmt \x10\x00\x00\x00",
        b"ID3\x04\x00\x00\x00\x00\x00\x23TSSE",
        b"OggS\x00\x02\x00\x00\x00\x00",
        bz2.compress(b"a text that was compressed"),
        b"%PDF-1.7 and nothing else",
    ],
)
def test_a_picture_or_sound_under_the_name_of_a_text_is_refused(data: bytes) -> None:
    with pytest.raises(UnsupportedFormatError, match="binary"):
        decode(data + b"a line of text behind it\n" * 100)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["A plain line of text.\n" * 5, "Überblick: 漢字\n" * 20])
def test_wide_text_without_a_mark_is_read_or_refused_but_never_garbled(codec: str, text: str) -> None:
    try:
        assert decode(text.encode(codec)).text == text
    except UnsupportedFormatError:
        assert codec.startswith("utf-32") or not text.isascii()


def test_what_is_decoded_is_not_yet_clean_and_a_mark_inside_stays_for_cleaning() -> None:
    decoded = decode("a\ufeffb\u200bc\u202ed\U000e0041\x00".encode() + b" and enough of other text " * 10)
    assert decoded.text.startswith("a\ufeffb\u200bc\u202ed\U000e0041\x00")


def test_a_part_of_a_file_is_read_in_the_encoding_of_the_file() -> None:
    assert decode_as(b"Gr\xf6\xdfe", "cp1252", detected=True) == Decoded(
        "Größe", "cp1252", True, ("encoding detected as cp1252: the file does not say",)
    )
    broken = decode_as(b"much that is sound \x81 and the rest", "cp1252")
    assert broken.text == "much that is sound \ufffd and the rest"
    assert broken.warnings == ("1 byte sequence could not be read as cp1252",)
    for noise in (b"\x81\x8d" * 20, bytes(range(32)) * 3):
        with pytest.raises(UnsupportedFormatError):
            decode_as(noise, "cp1252")
