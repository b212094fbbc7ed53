"""Differences of two texts: applied to the old one they give the new one, and large texts take little time."""

from __future__ import annotations

import random
import time
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.differences import Change, differences, lines_of, word_differences

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "The rent is due. It is paid. ", "x"]), max_size=30)
TEXTS = st.one_of(st.text(max_size=400), LINES.map("".join))


def applied(old: str, new: str, changes: list[Change]) -> str:
    parts, at = [], 0
    for each in changes:
        parts += [old[at : each.old[0]], new[slice(*each.new)]]
        at = each.old[1]
    return "".join([*parts, old[at:]])


@given(TEXTS, TEXTS)
@settings(max_examples=300)
def test_the_changes_applied_to_the_old_text_give_the_new_one(old: str, new: str) -> None:
    for find in (differences, word_differences):
        changes = find(old, new)
        assert applied(old, new, changes) == new
        assert bool(changes) == (old != new)
        for one, two in pairwise(changes):
            assert one.old[1] <= two.old[0]
            assert one.new[1] <= two.new[0]
            # Something that is equal lies between two changes, in both.
            assert one.old[1] < two.old[0]
            assert one.new[1] < two.new[0]
        for each in changes:
            before, after = old[slice(*each.old)], new[slice(*each.new)]
            assert before != after
            assert each.kind == ("added" if not before else "removed" if not after else "changed")


@given(TEXTS)
def test_lines_joined_are_the_text(text: str) -> None:
    assert "".join(lines_of(text)) == text
    assert all(lines_of(text))


def test_one_changed_line_is_one_change() -> None:
    old = "# Lease\n\nThe rent is 500 pounds.\n\nIt is due in May.\n"
    new = old.replace("500", "600")
    (change,) = differences(old, new)
    assert old[slice(*change.old)] == "The rent is 500 pounds.\n"
    (word,) = word_differences(old[slice(*change.old)], new[slice(*change.new)])
    line = old[slice(*change.old)]
    assert line[slice(*word.old)] == "500"


def test_long_lines_are_compared_by_sentences() -> None:
    sentences = [f"The party of part {n} pays {n * 7} crowns in the month of May. " for n in range(50)]
    old = "".join(sentences)
    new = old.replace("pays 70 crowns", "pays 71 crowns")
    (change,) = differences(old, new)
    assert old[slice(*change.old)] == sentences[10]


def test_a_moved_paragraph_is_taken_out_and_put_in() -> None:
    lines = [f"Clause {n} of the deed.\n" for n in range(40)]
    moved = lines[:5] + lines[6:30] + [lines[5]] + lines[30:]
    changes = differences("".join(lines), "".join(moved))
    assert [each.kind for each in changes] == ["removed", "added"]


def test_a_million_characters_take_little_time() -> None:
    chosen = random.Random(5)
    words = [f"word{n}" for n in range(300)]
    lines = [" ".join(chosen.choices(words, k=8)) + "\n" for _ in range(20_000)]
    edited = list(lines)
    for at in chosen.sample(range(len(lines)), 2000):
        edited[at] = " ".join(chosen.choices(words, k=8)) + "\n"
    # Lines that stand often, and a text of two lines only: the worst for comparing all with all.
    repeated = [chosen.choice(["yes\n", "no\n"]) for _ in range(200_000)]
    for old, new in (
        ("".join(lines), "".join(edited)),
        ("".join(lines), "".join(chosen.sample(lines, len(lines)))),
        ("".join(repeated), "".join(repeated[100:] + repeated[:50])),
        ("x" * 1_000_000, "y" * 1_000_000),
    ):
        started = time.perf_counter()
        changes = differences(old, new)
        taken = time.perf_counter() - started
        assert applied(old, new, changes) == new
        assert taken < 10, taken
