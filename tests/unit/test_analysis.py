"""Terms of the lexical leg: documents and queries go through the same function, so each test is both sides."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pincite.analysis import LANGUAGES, analyze, fold_accents

LANGUAGE = st.sampled_from(LANGUAGES)
TEXT = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="aZ0९٣éßİıſΣς -–.,/'’&_:()\n\u0301\u200b\u200d東京のひらカタไทย", max_size=40),
    st.text(alphabet="aक्षि९م\u064e\u200c\u200d\u00adーｰﾊﾟ가각\u1100\u1161〆 -.", max_size=40),
)


def meet(query: str, text: str, language: str = "english") -> bool:
    """Whether some term of the query is a term of the text."""
    return bool(set(analyze(query, language)) & set(analyze(text, language)))


# Properties


@given(TEXT, LANGUAGE)
@example("İ", "turkish")
@example("\u0345", "greek")
@example("ﷺ", "arabic")
@example("½ ² ①", "english")
def test_terms_are_never_empty_and_hold_no_white_space(text: str, language: str) -> None:
    """The engine splits on white space what is joined here."""
    terms = analyze(text, language)
    assert all(terms)
    assert " ".join(terms).split() == terms
    for term in terms:
        assert any(character.isalnum() or unicodedata.category(character)[0] == "M" for character in term)


@given(TEXT, LANGUAGE)
def test_the_same_text_gives_the_same_terms(text: str, language: str) -> None:
    assert analyze(text, language) == analyze(text, language)


@given(TEXT, LANGUAGE)
def test_case_and_compatibility_form_do_not_matter(text: str, language: str) -> None:
    terms = set(analyze(text, language))
    for other in (unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)):
        assert set(analyze(other, language)) == terms


@given(st.text(alphabet="abcXYZ0123456789 ", max_size=40), LANGUAGE)
def test_plain_words_come_out_as_they_are_and_again(text: str, language: str) -> None:
    terms = analyze(text, language)
    assert terms == text.lower().split()
    assert analyze(" ".join(terms), language) == terms


@given(TEXT, TEXT, LANGUAGE)
def test_texts_on_two_lines_do_not_touch_each_other(first: str, second: str, language: str) -> None:
    assert analyze(f"{first} \n {second}", language) == analyze(first, language) + analyze(second, language)


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "東京",
        "a-",
        "a-b.c/d_e ",
        "1,000",
        "é",
        "e\u0301",
        "\u0301",
        "' ",
        "x\u200d",
        "(((",
        "-",
        "ก\u0e31",
        "東\u0301",
        "👩‍👩‍👧",
        "·",
    ],
)
def test_time_grows_with_the_text_and_no_faster(unit: str) -> None:
    """A run of anything: 8 times the text may take 8 times as long, with room for noise, not 64 times."""

    def best(text: str) -> float:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            analyze(text)
            times.append(time.perf_counter() - started)
        return min(times)

    short = unit * (4_000 // len(unit))
    assert best(short * 8) < 30 * best(short) + 0.02


# By hand


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("!?… — () “”", []),
        ("Hello, World!", ["hello", "world"]),
        ("Section 302(2)", ["section", "302", "2"]),
        ("in 1973", ["in", "1973"]),
        ("1,000,000", ["1000000"]),
        ("1,00,000", ["100000"]),  # as Indian numbers are grouped
        ("3.14", ["3.14"]),
        ("§ 7", ["7"]),
        ("ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]),
        ("ﬁne", ["fine"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("Ωμέγα ΩΜΈΓΑ", ["ωμεγα", "ωμεγα"]),
        ("धारा ३०२", ["धारा", "302"]),
        ("٣٠٢", ["302"]),
        ("東京都", ["東京", "京都"]),
        ("京", ["京"]),
        ("ABC東京123", ["abc", "東京", "123"]),
        ("naïve café", ["naive", "cafe"]),
        ("Alice's", ["alice"]),
        ("Alice’s", ["alice"]),
        ("U.S.", ["us"]),
        # Scripts side by side
        ("iPhone手机", ["iphone", "手机"]),
        ("3Dプリンター", ["3d", "プリ", "リン", "ンタ", "ター"]),
        ("A社は第21条", ["a", "社は", "は第", "21", "条"]),
        ("iPhone은", ["iphone", "은"]),
        # Devanagari: vowel signs and conjuncts stay, the full stop goes, numbers become ordinary ones
        ("हिन्दी में संविधान।", ["हिन्दी", "में", "संविधान"]),
        ("२०२३ में ५,००० या १,००,०००", ["2023", "में", "5000", "या", "100000"]),
        ("राज्\u200dय", ["राज्य"]),
        ("क्\u200cष", ["क्ष"]),
        ("क\u093cानून", ["क\u093cानून"]),
        # The long mark of kana is no word of its own, narrow forms are the wide ones
        ("サーバー", ["サー", "ーバ", "バー"]),
        ("ﾊﾟｿｺﾝ", ["パソ", "ソコ", "コン"]),
        ("〆切", ["〆切"]),
        # Hangul: a syllable from its parts, pairs over particles and joined words
        ("서울에서", ["서울", "울에", "에서"]),
        ("대한민국 헌법", ["대한", "한민", "민국", "헌법"]),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", ["한글"]),
        ("법", ["법"]),
        # Not seen
        ("Mietver\u00adtrag", ["mietvertrag"]),
        ("می\u200cخواهم", ["می", "خواهم"]),  # in Persian it parts a word's pieces
        ("👩\u200d👩\u200d👧", []),
        ("\ud800 rent \udfff", ["rent"]),
    ],
)
def test_by_hand(text: str, expected: list[str]) -> None:
    assert analyze(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E1234-XZ", "e1234–xz"),
        ("E1234-XZ", "E1234 XZ"),
        ("on-line", "on line"),
        ("state-of-the-art", "state of the art"),
        ("café", "cafe\u0301"),
        ("CAFÉ", "cafe"),
        ("1,000", "1000"),
        ("Section 302", "302"),
        ("302(2)(a)", "302"),
        ("Art. 21", "article 21"),
        ("三〇二条", "三〇二条"),
        ("第302条", "302"),
        ("snake_case", "snake"),
        ("p53/MDM2", "mdm2"),
        ("O'Brien", "o’brien"),
        ("don't", "don’t"),
        ("file.txt", "file"),
        ("١٩٧٣", "1973"),
        ("U.S.", "US"),
        ("日本国憲法", "憲法"),
        ("하늘", "하늘"),
        ("ไทย", "ไทย"),
        ("राज्\u200dय", "राज्य"),
        ("क\u093cानून", "\u0958ानून"),
        ("ｺｰﾋｰ", "コーヒー"),
        ("서울", "서울에서"),
        ("대한민국헌법", "헌법"),
        ("mietvertrag", "Mietver\u00adtrag"),
    ],
)
def test_two_spellings_find_each_other(one: str, other: str) -> None:
    assert meet(one, other)
    assert meet(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("302", "3021"), ("3.14", "3.15"), ("hindi", "हिन्दी"), ("東京", "京東"), ("コーヒー", "サーバー")],
)
def test_different_things_do_not(one: str, other: str) -> None:
    assert not meet(one, other)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("turkish", "DIŞ", "dış"),
        ("turkish", "ISBN", "isbn"),
        ("turkish", "KADIN", "kadin"),
        ("english", "Diyarbakır", "Diyarbakir"),
        ("turkish", "İstanbul", "istanbul"),
        ("turkish", "İSTANBUL", "istanbul"),
        ("german", "Größe", "Grösse"),
        ("german", "Größe", "GRÖSSE"),
        ("german", "Größe", "Grosse"),
        ("french", "élève", "eleve"),
        ("spanish", "año", "ano"),
        ("greek", "Αθήνα", "ΑΘΗΝΑ"),
        ("russian", "ёлка", "елка"),
        ("swedish", "ångström", "ANGSTROM"),
        ("arabic", "٣٠٢", "302"),
    ],
)
def test_in_other_languages_either_spelling_finds_the_other(language: str, one: str, other: str) -> None:
    assert meet(one, other, language)
    assert meet(other, one, language)


def test_where_accents_count_both_forms_are_indexed() -> None:
    assert analyze("élève", "french") == ["élève", "eleve"]
    assert analyze("eleve", "french") == ["eleve"]
    assert analyze("Größe", "german") == ["grösse", "grosse"]


def test_repeated_terms_stay_repeated() -> None:
    """BM25 counts them."""
    assert analyze("rent rent rent") == ["rent"] * 3


@given(st.text(max_size=60))
def test_folding_accents_twice_is_folding_once(text: str) -> None:
    folded = fold_accents(text)
    assert fold_accents(folded) == folded


def test_marks_of_other_scripts_are_letters_and_stay() -> None:
    for text in ("हिन्दी", "ไทย", "العَرَبِيَّة", "עִבְרִית"):
        assert fold_accents(text) == unicodedata.normalize("NFC", text)


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["1,000", "3.14", "302(2)", "E1234-XZ", "東京都", "U.S.A.", "ça"]), max_size=6))
def test_numbers_and_codes_survive_any_company(words: list[str]) -> None:
    terms = set(analyze("; ".join(words)))
    for word in words:
        assert set(analyze(word)) <= terms
