"""Quoted words, found in a text and located in sources."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.quotes import LONGEST_OMISSION, Located, NormalText, find_quotations, locate

VALVE = "The limit is 40 bar. Above that the valve opens."
OTHER = "The pump is checked every year. It is painted blue."
LEASE = (
    "The tenant may not keep dogs without the landlord's written consent, which shall not be unreasonably withheld. "
    "The tenant pays 1,250 euros on the third day of each month. Two keys are handed over to the tenant."
)


def shown(quote: str, source: str = LEASE) -> tuple[str, str]:
    """The verdict, and what stands there."""
    found = locate(quote, [source], [0])
    return found.verdict, source[found.start : found.end]


# Where a text quotes


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('He said "the limit is 40" and "it may never open".', ["the limit is 40", "it may never open"]),
        ("It's “the only way out”, 'so to speak'.", ["the only way out", "so to speak"]),
        ("„Das ist die Grenze“ und »so geht das nicht«", ["Das ist die Grenze", "so geht das nicht"]),
        ("Il dit « oui c'est bien » et s'en va.", ["oui c'est bien"]),
        ("彼は「限度は四十バールです」と言った", ["限度は四十バールです"]),
        ('他说"限制为四十巴"。', ["限制为四十巴"]),
        ("“outer ‘inner one here’ and so on”", ["outer ‘inner one here’ and so on"]),
        ("「外側の『内側の言葉』も同じ」です", ["外側の『内側の言葉』も同じ"]),
        ("the tenants' rights and the landlords' duties", []),
        ("'the tenants' rights are void' he said", ["the tenants' rights are void"]),
        ("don't you can't won't, it isn't y'all's", []),
        ("rock 'n' roll in the '90s was 'not all that good'.", ["not all that good"]),
        ("a 5\" pipe and a 6\" pipe is \"not so very big\" then", ["not so very big"]),
        ("In Gupta 's case, and then in Rao 's, it was so held.", []),
        (f"“{'word ' * 5_000}” and 'so it is'", ["so it is"]),
        ("the “Termination Date” and the 'Fee'", []),
        ("`x = \"a b c d\"` and \"the real one here\"", ["the real one here"]),
        ("```\n\"a b c d\"\n```", []),
        ("> One two three.\n> Four five. [1]\n\nAfter.", ["One two three.\n> Four five."]),
        ("> “One two three four.”\n> — Lease, s. 5\n", ["One two three four."]),
        ("“The first goes on.\n\n“The second one ends.” Then.", ["The first goes on.", "The second one ends."]),
        ("“never closed at all\n\nNext paragraph here.", []),
        ("“the limit is 40 bar [1]” [2]", ["the limit is 40 bar"]),
        ('("in the brackets here")', ["in the brackets here"]),
        ('"He has left us," she said, "and never came back."', ["He has left us,", "and never came back."]),
        ("", []),
        ('"', []),
    ],
)  # fmt: skip
def test_find_quotations(text: str, right: list[str]) -> None:
    assert [text[start:end] for start, end in find_quotations(text)] == right


@given(
    st.lists(
        st.sampled_from([*"\"'“”‘’«»„「」『』>`-—. \n", "one ", "two", " three four ", "限", "\n\n", "> ", "'s", "[1]"])
    )
)
def test_quotations_lie_in_the_text_in_order(parts: list[str]) -> None:
    text = "".join(parts)
    position = 0
    for start, end in find_quotations(text):
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        position = end


# The normal text


@pytest.mark.parametrize(
    ("source", "quote"),
    [
        ("The “limit” isn’t 40 bar.", "The 'limit' isn't 40 bar."),
        ("The ﬁnal ﬂow is low.", "the final flow is low"),
        ("From 5–10 bar — no more.", "From 5-10 bar - no more."),
        ("From 5 – 10 bar on.", "From 5-10 bar on."),
        ("Section 4 — 30 days of notice", "30 days of notice"),
        ("It is so—no more than that.", "It is so -- no more than that."),
        ("The termi-\nnation is void.", "The termination is void."),
        ("The termi\u00ad\nna\u00adtion is void.", "The termination is void."),
        ("A well-\nknown fact is one.", "A well-known fact is one."),
        ("A well-known fact is one.", "A well-\nknown fact is one."),
        ("The  limit\n is\u00a040\u2009bar\tnow.", "the limit is 40 bar now"),
        ("> The limit is\n> 40 bar.", "The limit is 40 bar."),
        ("The **limit** is *40 bar*.", "The limit is 40 bar."),
        ("Cafe\u0301 rules apply here.", "Café rules apply here."),
        ("STRASSE bleibt frei.", "Straße bleibt frei."),
        ("The x\u200by z \ufeffhere.", "The xy z here."),
        ("So it went . . . on and on.", "So it went … on and on."),
        ("限制 为\n40 巴。", "限制为40巴。"),
        ("ｶﾞスの限度は", "ガスの限度は"),
        ("क़लम और किताब यहाँ हैं", "क\u093cलम और किताब यहाँ हैं"),
        ("« oui c'est bien »", '"oui c\'est bien"'),
        ("Take 6½ cups of it.", "Take 6 1/2 cups of it."),
    ],
)
def test_what_makes_no_difference(source: str, quote: str) -> None:
    found = locate(quote, [source])
    assert found.verdict == "verbatim", found
    assert NormalText(source[found.start : found.end]).normal.strip(" '.>") == NormalText(quote).normal.strip(" '.")


@pytest.mark.parametrize(
    ("source", "quote"),
    [
        ("The limit is 40.5 bar.", "the limit is 40"),
        ("The limit is 40-50 bar.", "the limit is 40"),
        ("It falls to -5 degrees now.", "5 degrees now"),
        ("It costs 15,000 euros now.", "000 euros now"),
        ("The non-payment of rent is so.", "payment of rent is so"),
        ("A wellknown fact is one.", "A well-known fact is one."),
        ("For the tenant's dog only.", "For the tenant"),
        ("Take 10² bar of it.", "Take 102 bar of it."),
        ("Take ½ cups of it.", "2 cups of it"),
        ("A party is here now.", "art y is here now"),
        ("The resume is here now.", "The résumé is here now."),
        ("Use 2*3 is what it says.", "Use 23 is what it says."),
    ],
)
def test_what_does(source: str, quote: str) -> None:
    assert locate(quote, [source]).verdict != "verbatim"


# Any words of a source, printed in another way, are found where they stand

_PLAIN = (
    "office",
    "final",
    "flow",
    "tenant's",
    "well-known",
    "limit",
    "1,250",
    "40.5",
    "“consent”",
    "Straße",
    "über-all",
    "x",
)
_SPACES = (" ", "\n", "  ", "\u00a0", "\t", " \n ", "\r\n", "\u2003")
_DASHES = (" - ", " – ", "—", " — ", " -- ", "\n— ")


@st.composite
def _printed(draw: st.DrawFn, words: list[str], joins: list[bool]) -> list[str]:
    """Words with what stands between them, in one of many prints: every other part is a word."""
    parts: list[str] = []
    for place, word in enumerate(words):
        if place:
            parts.append(draw(st.sampled_from(_DASHES if joins[place] else _SPACES)))
        made = word
        if draw(st.booleans()):
            made = made.replace("fi", "ﬁ").replace("fl", "ﬂ").replace("ff", "ﬀ")
        made = made.replace("'", draw(st.sampled_from("'’‘")))
        left, right = draw(st.sampled_from(["“”", '""', "‘’", "„“", "''"]))
        made = made.replace("“", left).replace("”", right)
        made = made.replace("-", draw(st.sampled_from(["-", "‐", "-\n", "\u2011"])))
        if draw(st.booleans()):
            made = made.swapcase() if "ß" not in made else made
        cut = draw(st.integers(2, 6))
        if made[cut - 2 : cut + 2].isalpha() and len(made[cut - 2 : cut + 2]) == 4:
            made = made[:cut] + draw(st.sampled_from(["", "\u00ad", "-\n", "\u200b"])) + made[cut:]
        parts.append(made)
    return parts


@st.composite
def _quotes(draw: st.DrawFn) -> tuple[str, tuple[int, int], list[str], list[bool], str]:
    """A source, where some of its words stand, the words, what joins them, and another print of them."""
    count = draw(st.integers(5, 12))
    # The letter makes each its own, so that words stand in one place alone.
    words = [f"{draw(st.sampled_from(_PLAIN))}q{chr(ord('a') + n)}" for n in range(count)]
    joins = [draw(st.sampled_from([False, False, False, True])) for _ in words]
    first = draw(st.integers(0, count - 4))
    last = draw(st.integers(first + 3, count))
    parts = draw(_printed(words, joins))
    source = "".join(["Before. ", *parts, " After."])
    start = len("Before. " + "".join(parts[: 2 * first]))
    end = start + len("".join(parts[2 * first : 2 * last - 1]))
    wanted, joined = words[first:last], joins[first:last]
    return source, (start, end), wanted, joined, "".join(draw(_printed(wanted, joined)))


@given(_quotes())
def test_another_print_of_the_same_words_is_verbatim(
    made: tuple[str, tuple[int, int], list[str], list[bool], str],
) -> None:
    source, span, _, _, quote = made
    assert locate(quote, [OTHER, source], [1]) == Located("verbatim", 1, *span)
    assert locate(quote, [source, OTHER], [1]) == Located("elsewhere", 0, *span)


@given(_quotes(), st.data())
def test_a_changed_word_is_never_verbatim(
    made: tuple[str, tuple[int, int], list[str], list[bool], str], data: st.DataObject
) -> None:
    source, _, words, joins, _ = made
    place = data.draw(st.integers(0, len(words) - 1))
    other = data.draw(st.sampled_from(["zebra", "not", "9", f"{words[place]}0", f"un{words[place]}"]))
    way = data.draw(st.sampled_from(["instead", "added", "dropped"]))
    if way == "dropped" and 0 < place < len(words) - 1:
        changed, joined = words[:place] + words[place + 1 :], joins[:place] + joins[place + 1 :]
    elif way == "added":
        changed, joined = [*words[:place], other, *words[place:]], [*joins[:place], False, *joins[place:]]
    else:
        changed, joined = [*words[:place], other, *words[place + 1 :]], joins
    quote = "".join(data.draw(_printed(changed, joined)))
    found = locate(quote, [source])
    assert found.verdict in ("altered", "stitched", "absent")
    assert (found.verdict == "absent") == (found.source == -1)
    if found.source == 0:
        assert 0 <= found.start < found.end <= len(source)
        assert found.difference


texts = st.text(st.sampled_from("ab 12.,-'\"“”…[]*\n\tnotß½é\u0301\u00ad限ﬁ—"), max_size=60)


@given(texts, st.lists(texts, max_size=3), st.lists(st.integers(-1, 4), max_size=3))
def test_locating_never_fails_and_stays_inside(quote: str, sources: list[str], named: list[int]) -> None:
    found = locate(quote, sources, named)
    assert found == locate(quote, [NormalText(each) for each in sources], named)
    if found.source >= 0:
        assert 0 <= found.start < found.end <= len(sources[found.source])
    else:
        assert found == Located("absent")
    credited = [i for i in named if 0 <= i < len(sources)]
    if found.verdict == "verbatim" and credited:
        assert found.source in credited
    if found.verdict == "elsewhere":
        assert found.source not in credited


@given(texts)
def test_the_way_back_covers_the_text(text: str) -> None:
    made = NormalText(text)
    position = 0
    for place in range(len(made.normal)):
        start, end = made.span(place, place + 1)
        assert position <= start < end <= len(text) or start < position <= end
        position = max(position, end)


# Verdicts


def test_fabricated_misattributed_and_stitched() -> None:
    sources = [VALVE, OTHER]
    assert locate("The limit is 40 bar.", sources, [0]) == Located("verbatim", 0, 0, 20)
    assert locate("The limit is 60 bar", sources, [0]) == Located("altered", 0, 0, 19, "“60” for “40”")
    assert locate("The limit is 40 bar", sources, [1]) == Located("elsewhere", 0, 0, 19)
    stitched = locate("The limit is the valve", sources, [0])
    assert (stitched.verdict, stitched.source) == ("stitched", 0)
    assert stitched.difference == "stand apart: “the limit is” / “the valve”"
    assert VALVE[stitched.start : stitched.end] == "The limit is 40 bar. Above that the valve"
    assert locate("The moon is made of cheese", sources, [0]) == Located("absent")
    assert locate("to the of the", sources, [0]) == Located("absent")
    assert locate("The limit is 40 bar", sources).verdict == "verbatim"  # credited to none, it may stand in any
    assert locate("The limit is 40 bar", []) == Located("absent")


@pytest.mark.parametrize(
    ("quote", "difference"),
    [
        ("The tenant may keep dogs", "left out: “not”"),
        ("The tenant pays 1,520 euros on the third day", "“1,520” for “1,250”"),
        ("shall not be unreasonably delayed", "“delayed” for “withheld”"),
        ("The tenant may not ever keep dogs", "added: “ever”"),
        ("the tenant pays 1,250 euros, on the third day", "punctuation"),
        ("the landlord's consent, which shall not be withheld", "left out: “written”; left out: “unreasonably”"),
    ],
)  # fmt: skip
def test_what_is_altered_is_told(quote: str, difference: str) -> None:
    found = locate(quote, [OTHER, LEASE], [1])
    assert (found.verdict, found.source, found.difference) == ("altered", 1, difference)


def test_what_is_altered_is_sought_where_it_is_credited_first() -> None:
    near = LEASE.replace("1,250", "1,520").replace("third", "fourth")
    quote = "The tenant pays 1,250 euros on the fourth day of each month"
    assert locate(quote, [near, LEASE], [1]).source == 1
    assert locate(quote, [near, OTHER], [1]).source == 0
    assert locate(quote, [OTHER, LEASE]).source == 1


@pytest.mark.parametrize(
    ("quote", "right"),
    [
        (
            "The tenant may not … The tenant pays 1,250 euros",
            "The tenant may not keep dogs without the landlord's written consent",
        ),
        ("Two keys ... to the tenant.", "Two keys are handed over to the tenant"),
        ("… keep dogs without the landlord's written consent …", "keep dogs without the landlord's written consent"),
        (
            "The tenant may not keep dogs without [...] consent, which shall not be",
            "The tenant may not keep dogs without",
        ),
        ("[t]he tenant may not keep dogs", "The tenant may not keep dogs"),
        ("The [T]enant may not keep dogs", "The tenant may not keep dogs"),
        ("[The lessee] may not keep dogs", "may not keep dogs"),
        ("The tenant pay[ing] 1,250 euros on the third day", "The tenant pays 1,250 euros on the third day"),
        ("The tenant pays [the rent] on the third day", "The tenant pays 1,250 euros on the third day"),
        ("The tenant may not keep dogs [sic] without", "The tenant may not keep dogs without"),
        ("Two keys are handed over [emphasis added]", "Two keys are handed over"),
        ("each month [1]. Two keys are handed over [1].", "each month. Two keys are handed over"),
    ],
)
def test_what_is_marked_is_honest(quote: str, right: str) -> None:
    verdict, there = shown(quote)
    assert verdict == "verbatim"
    assert there.startswith(right)


@pytest.mark.parametrize(
    ("quote", "difference"),
    [
        ("The tenant … keep dogs", "the dots leave out “may not”"),
        ("The tenant may [] keep dogs without", "[] for “not”"),
        ("The tenant may [always] keep dogs without", "[always] for “not”"),
        ("The tenant pays [900 euros] on the third day", "[900 euros] for “1,250 euros”"),
        ("[No] tenant may not keep dogs", "added in brackets: “no”"),
        ("The tenant [must] not keep dogs", "[must] for “may”"),
        (
            "The tenant may not keep dogs [...] which shall not be",
            "the dots leave out “without the landlord's written consent”",
        ),
    ],
)
def test_marks_do_not_hide_a_turn(quote: str, difference: str) -> None:
    found = locate(quote, [LEASE])
    assert (found.verdict, found.difference) == ("altered", difference)


OFFICE = (
    "No order shall be made, in the absence of both parties, unless the person has been heard. The officer shall not, "
    "save with the written consent of the Board or of its chair, sell the land. He may let the land or the house. Any "
    "order under s. 5 of the Act, as passed, is final."
)


@pytest.mark.parametrize(
    ("quote", "verdict", "difference"),
    [
        ("The officer shall … sell the land", "altered", "the dots leave out “not, save with the … of its chair”"),
        (
            "The officer shall not … sell the land",
            "altered",
            "the dots leave out “save with the written … of its chair”",
        ),
        ("in the absence of both parties … the person has been heard", "altered", "the dots leave out “unless”"),
        ("The officer … may let the land", "stitched", "the dots join parts of two sentences"),
        ("sell the land. … let the land or the house", "stitched", "the dots join parts of two sentences"),
        ("He may let the land [and] the house", "altered", "[and] for “or”"),
        ("[Any] order shall be made", "altered", "[Any] for “no”"),
        ("sell the land. … Any order", "verbatim", ""),
        ("Any order … of the Act … is final", "verbatim", ""),  # the stop of "s." ends nothing
        ("[An] order under s. 5", "verbatim", ""),
    ],
)
def test_dots_and_brackets_hide_no_condition(quote: str, verdict: str, difference: str) -> None:
    found = locate(quote, [OFFICE])
    assert (found.verdict, found.difference) == (verdict, difference)


def test_dots_do_not_reach_over_pages() -> None:
    near = f"The tenant may keep dogs. {'word ' * (LONGEST_OMISSION // 5 - 20)}The landlord pays all of it."
    far = near.replace("word ", "word word ")
    assert shown("The tenant may keep dogs … landlord pays all of it", near)[0] == "verbatim"
    found = locate("The tenant may keep dogs … landlord pays all of it", [far])
    assert found.verdict == "stitched"
    assert found.difference.startswith("the dots stand for 3,")


def test_a_mark_that_stands_in_the_source_is_no_mark() -> None:
    source = "The word [shall] was … put in later on."
    assert shown("The word [shall] was … put in later", source) == ("verbatim", "The word [shall] was … put in later")
    assert shown("word shall was", source)[0] == "altered"


def test_pieces_may_stand_in_any_order_and_no_nonsense_is_made_of_words() -> None:
    assert shown("Above that the limit is 40 bar", VALVE)[0] == "stitched"
    assert shown("Two keys the tenant pays", LEASE)[0] == "stitched"
    assert shown("month dogs keys third written consent", LEASE)[0] == "absent"


def test_a_megabyte_is_searched_in_a_moment() -> None:
    filler = " ".join(f"clause {n} says the tenant of house {n * 7} pays {n * 3} euros.\n" for n in range(20_000))
    text = f"{filler} The lessor's quiet possession is war-\nranted for ever. {filler}"
    assert len(text) > 1_000_000
    started = time.process_time()
    made = NormalText(text)
    assert locate("the lessor’s quiet possession is warranted for ever", [made]).verdict == "verbatim"
    first = time.process_time() - started
    started = time.process_time()
    assert (
        locate("the lessor’s quiet enjoyment is warranted for ever", [made]).difference
        == "“enjoyment” for “possession”"
    )
    assert locate("nothing of the kind is said of zebras anywhere", [made]).verdict == "absent"
    # Of the processor's time, several times what it takes here: other work slows it down too.
    assert first < 3
    assert time.process_time() - started < 3
