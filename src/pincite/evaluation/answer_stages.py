"""Where a question was lost: the first step on its way to an answer, and to the answer's proof, that failed.

Retrieval comes first, then the decision whether to answer, then what was read in the passages, then the citation. A
question is lost at the first step that went wrong, and the steps behind it are not asked: an answer made without a gold
passage says nothing of reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.evaluation.answer_measures import Rule, normal_form, score
from pincite.evaluation.answer_records import Lost

if TYPE_CHECKING:
    from pincite.evaluation.answer_sets import Question

__all__ = ["GATES", "RIGHT_F1", "is_right", "lost_at"]

#: What refuses a question in the whole pipeline; see `pincite.evaluation.grounding.gate_of`.
GATES = ("no-evidence gate", "generator", "support gate", "confidence gate")

#: An answer that shares so much with a gold answer is right where it need not be the same word for word.
RIGHT_F1 = 0.5


def is_right(answer: str, gold: Sequence[str], rule: Rule) -> bool:
    """Whether `answer` says a gold answer: it is one, holds all words of one in a row, or F1 is at least `RIGHT_F1`.

    More generous than exact match: a reader that answers with sentences is not lost where they hold the answer.
    """
    own = f" {normal_form(answer, rule)} "
    if not own.strip():
        return False
    held = any(f" {form} " in own for each in gold if (form := normal_form(each, rule)))
    return held or score(answer, gold, rule).f1 >= RIGHT_F1


def lost_at(
    question: Question,
    *,
    found: bool | None,
    outcome: str,
    right: bool,
    cited: Sequence[str] | None = None,
    why: str = "",
    right_on_gold: bool | None = None,
) -> Lost | None:
    """The stage that lost the question and what is known of why; None where it was not lost.

    `found` says whether a gold passage was among those found (None where the set names none), `outcome` how it ended,
    `right` whether what was answered is right, `cited` the documents that the answer names as its sources (None where
    that is not told), `why` what refused or failed, `right_on_gold` whether the gold passage alone was answered
    rightly. A question without an answer is lost only by answering it.
    """
    if outcome == "failed":
        return Lost("failure", why)
    if not question.answerable:
        return Lost("refusal", "answered, and there is no answer") if outcome == "answered" else None
    proved = cited is None or not question.gold or any(each in question.gold for each in cited)
    if outcome == "answered" and right and proved:
        return None
    if found is False:
        told = "the answer is right, without a gold passage" if right and outcome == "answered" else ""
        return Lost("retrieval", told)
    if outcome == "abstained":
        return Lost("refusal", why)
    if not right:
        alone = {
            None: "",
            True: "right from the gold passage alone",
            False: "wrong from the gold passage alone too",
        }
        return Lost("reading", alone[right_on_gold])
    return Lost("citation", "no source is named" if not cited else "a source that is no gold passage is named")
