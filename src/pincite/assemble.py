"""Putting passages into a prompt: one function owns the budget, and document text stays data.

Every passage stands between delimiters that carry a random word of this request, so that no document can forge the end
of its own frame or the start of another. Whole passages only; what does not fit is returned with the reason.
"""

from __future__ import annotations

import math
import re
import secrets
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pincite.errors import InputError
from pincite.markers import LONGEST, MarkerResolver
from pincite.prompt_template import Template, packaged
from pincite.types import Message, Passage, Prompt

__all__ = [
    "MARGIN",
    "REFUSAL",
    "RELEVANCE",
    "Layout",
    "Order",
    "assemble",
    "escape",
    "estimate_tokens",
    "is_refusal",
    "left_out",
    "unescape",
]

Order = Literal["best-first", "edges"]
"""``best-first``: as they were found. ``edges``: the best first, the second best last, and so on inwards, for a model
that overlooks what stands in the middle of a long context (Liu et al. 2023, arXiv:2307.03172)."""

#: What a model is told to say when the passages do not hold the answer.
REFUSAL = "The sources do not say."

#: Tokens kept free for what a chat template adds around the two messages, and for each message of a conversation.
MARGIN = 64
_PER_MESSAGE = 8

#: A passage is cut off below this share of the best, see `assemble`. The largest at which no passage judged relevant
#: was lost on five sets (benchmarks/relevance.py; docs/guides/prompts.md).
RELEVANCE = 0.4

_MARKS_AROUND = re.compile(r"\A[\W\d_]+|[\W\d_]+\Z")
_DIGIT, _NUMBER = re.compile(r"\d"), re.compile(r"\d+")
_MARK, _CAPITAL = re.compile(r"[!-/:-@\[-`{-~]"), re.compile(r"[A-Z]")
_SINGLE = re.compile(r"[\d!-/:-@A-Z\[-`{-~]")

# What could pass for a part of the prompt: a number in brackets for a citation, a tag for the end of a frame, and the
# control tokens of chat templates, which some servers read wherever they stand.
# A bracket right behind a word is a subscript, see `pincite.markers`.
_OPENING = re.compile(r"(?<![^\W\u2e80-\U0010ffff])[\[(]|【")
_CLOSING = {"[": "]", "(": ")", "【": "】"}
_UNLIKE = str.maketrans("[]()【】", "⟦⟧⦅⦆〖〗")
_ESCAPED = re.compile(r"⟦[^⟧]+⟧|⦅[^⦆]+⦆|〖[^〗]+〗")
_BACK = str.maketrans("⟦⟧⦅⦆〖〗", "[]()【】")
_TAG = re.compile(r"<(?=\s*/?\s*source\b)", re.IGNORECASE)
_CONTROL = re.compile(
    r"<(?=[|｜][^<>\n]{1,40}[|｜]>|/?s>|(?:bos|eos|pad|unk|(?:start|end)_of_turn|/?think|/?tool_call)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
    r"|<(?=</?SYS>>)",
    re.IGNORECASE,
)
_LETTERS = str.maketrans("0123456789", "ghijklmnop")
_FAR = "far below the best"
#: A title is there to say where a passage is from; more of it than this is cut.
_NAME = 200


@dataclass(frozen=True, slots=True)
class Layout:
    """How prompts are made, as far as settings say; see `assemble`."""

    budget: int = 8192
    answer: int = 512
    order: Order = "best-first"
    relevance: float = RELEVANCE
    turns: int = 6
    template: Template | None = None  #: None: `pincite.prompt_template.packaged`


def is_refusal(text: str) -> bool:
    """Whether a model answered with `REFUSAL`, give or take marks and markers around it."""
    words = _MARKS_AROUND.sub("", " ".join(text.casefold().split()))
    return words == REFUSAL.casefold().rstrip(".")


def estimate_tokens(text: str) -> int:
    """A cautious count for a tokenizer that is not at hand.

    A token for every digit, every number and every ASCII mark, for every two capitals of A to Z, and for every three
    bytes of UTF-8 of the rest: English runs at four to five bytes a token under the usual vocabularies, Chinese, Hindi
    and code near three, and many vocabularies make a token of each digit. Encoded data (Base64) may take more. The
    estimate of a text is at most that of its pieces together.
    """
    counts = [len(found) for found in (_DIGIT.findall(text), _NUMBER.findall(text), _MARK.findall(text))]
    capitals = len(_CAPITAL.findall(text))
    rest = len(text.encode("utf-8")) - len("".join(_SINGLE.findall(text)).encode("utf-8"))
    return sum(counts) + math.ceil((3 * capitals + 2 * rest) / 6)


def escape(text: str) -> str:
    """`text` of a document as it stands in a prompt: what could pass for a part of the prompt is made unlike it.

    The brackets of what reads like a citation, ``[1]``, become others, ``⟦1⟧``, or a model that copies it would cite a
    source by it. The ``<`` of ``</source…`` becomes ``‹``, and a space breaks the control tokens of chat templates,
    ``<|im_end|>``. Everything else stays as it is.
    """
    pieces, done = [], 0
    for opening in _OPENING.finditer(text):
        start = opening.start()
        end = text.find(_CLOSING[text[start]], start, start + LONGEST + 2) + 1
        if start >= done and end and _is_citation(text[start:end]):
            inside = text[start + 1 : end - 1]
            pieces += [text[done:start], text[start].translate(_UNLIKE), inside, text[end - 1].translate(_UNLIKE)]
            done = end
    text = "".join([*pieces, text[done:]])
    return _CONTROL.sub(lambda found: f"{found[0]} ", _TAG.sub("‹", text))


def _is_citation(text: str) -> bool:
    """Whether what begins and ends with brackets would be read as a citation of something."""
    if not _DIGIT.search(text):
        return False
    resolver = MarkerResolver(known=0)
    shown = resolver.feed(text) + resolver.finish()
    return bool(resolver.unknown) and not shown.startswith(text[0])


def unescape(text: str) -> str:
    """`text` with the brackets back that `escape` replaced: what a model copied, as it stands in the document."""
    return _ESCAPED.sub(lambda found: found[0].translate(_BACK), text)


def assemble(
    question: str,
    passages: Sequence[Passage],
    *,
    budget: int,
    answer: int = 0,
    margin: int = MARGIN,
    history: Sequence[Message] = (),
    turns: int | None = None,
    template: Template | None = None,
    order: Order = "best-first",
    relevance: float = 0.0,
    count: Callable[[str], int] = estimate_tokens,
    key: str | None = None,
    parts_of: Callable[[Passage], Sequence[Passage]] = lambda _: (),
) -> Prompt:
    """A prompt that leaves room for the answer: instructions, conversation, as many whole passages as fit, question.

    `budget` is the context window in tokens as `count` counts them. Of it `answer` are kept for the answer and `margin`
    for what a chat template adds (eight more for each message of the history). What is left goes, in this order, to

    1. the instructions of `template` and the question, which is never cut;
    2. the best passage;
    3. the last `turns` turns of `history` (None: all), the newest first; older ones give way whole;
    4. further passages, the best first. Of one that does not fit those of its `parts_of` that do are read, each as a
       passage of its own, and the next is tried.

    So the prompt is never over the budget, and no passage that is left out for want of room would fit.

    A passage is cut off that is far below the best: that every leg which scored the best scores below `relevance` times
    the best score of that leg; a leg that lacks it scores 0. 0 cuts nothing. The first passage always stays, and so
    does what a reranker scored: its scores have no zero to take a share from.

    Passages are numbered from 1 in the `order` in which they stand. What is framed of one is `Chunk.reading`, escaped
    (see `escape`): a piece of a table stands under its header. What was left out, with the reason, is in
    `Prompt.dropped` and `Prompt.forgotten`. Citation markers in the history are removed: they number other passages.

    `key` is the word of the delimiters, to repeat a prompt; without it a random one is drawn that stands in nothing
    that is put in. Raises InputError when instructions and question alone exceed the budget, for a `key` that stands in
    a passage, a `relevance` outside [0, 1], an unknown `order`, and a system message in the history.
    """
    if not 0 <= relevance <= 1:
        raise InputError(f"relevance must be in [0, 1], got {relevance}")
    if order not in ("best-first", "edges"):
        raise InputError(f"order must be best-first or edges, got {order!r}")
    template = template or packaged()
    conversation = _turns(history)
    key = _key(key, "\n".join([*map(_held, passages), question, *(m.content for turn in conversation for m in turn)]))
    values = {"key": key, "refusal": REFUSAL}
    system, closing = template.fill(sources="", question=question, **values)
    fixed = count(system) + count(closing) + margin
    room = budget - answer
    if fixed > room:
        kept_free = f" and {answer} are kept for the answer" if answer else ""
        raise InputError(
            f"the question and the instructions take {fixed} tokens, the budget is {budget}{kept_free}: "
            "raise answer.context_tokens, lower answer.max_tokens, or shorten the question"
        )

    def cost_of(passage: Passage, number: int) -> int:
        # Counted with its separator, and one more because joining texts can add a token.
        return count(_frame(number, passage, key) + "\n\n") + 1

    def cost_of_turn(turn: Sequence[Message]) -> int:
        return sum(count(message.content) + _PER_MESSAGE for message in turn)

    offered, dropped = _relevant(passages, relevance)
    # The first that could be read at all, however long the conversation is.
    first = next((cost for each in offered if (cost := cost_of(each, 1)) <= room - fixed), 0)
    remembered, forgotten = _remembered(conversation, turns, room - fixed - first, cost_of_turn)
    used = fixed + sum(map(cost_of_turn, remembered))
    kept: list[Passage] = []

    def place(passage: Passage) -> int:
        """What it costs; it is kept when there is room for that."""
        nonlocal used
        cost = cost_of(passage, len(kept) + 1)
        if used + cost <= room:
            used += cost
            kept.append(passage)
        return cost

    for passage in offered:
        before, free = used, room - used
        if (cost := place(passage)) <= free:
            continue
        reason = f"over the budget: {before} of {room} tokens used, needs {cost}"
        # What stands in a part stands in the whole, but for the headings above it and the header of a table.
        parts = [part for part in parts_of(passage) if key not in _held(part)]
        whole = len(kept)
        for part in parts:
            place(part)
        if parts:
            reason += f"; of the {len(parts)} parts of it that were found {len(kept) - whole} fit"
        dropped.append((passage, reason))
    messages = [message for turn in remembered for message in turn]
    while True:
        placed = _in_order(kept, order)
        frames = [_frame(number, passage, key) for number, passage in enumerate(placed, start=1)]
        system, user = template.fill(sources="\n\n".join(frames), question=question, **values)
        whole_prompt = (Message("system", system), *messages, Message("user", user))
        real = margin + len(messages) * _PER_MESSAGE + sum(count(message.content) for message in whole_prompt)
        if real <= room or not kept:
            break
        # Only a tokenizer that makes more tokens of a whole than of its parts comes here.
        dropped.append((kept.pop(), f"over the budget: the whole takes {real} of {room} tokens"))
    return Prompt(
        question=question,
        passages=tuple(placed),
        messages=whole_prompt,
        dropped=tuple(dropped),
        token_count=max(used, real),
        history=tuple(messages),
        forgotten=tuple(forgotten),
        answer_tokens=answer,
        template=template.name,
    )


def left_out(prompt: Prompt) -> list[str]:
    """What a prompt leaves out and why, in words for the reader of the answer."""
    told = [f"left out of the prompt: {passage.title}: {why}" for passage, why in prompt.dropped if _FAR not in why]
    if far := [passage.title for passage, why in prompt.dropped if _FAR in why]:
        told.append(f"left out of the prompt as {_FAR}: {'; '.join(dict.fromkeys(far))}")
    if prompt.forgotten:
        number, why = len(prompt.forgotten), prompt.forgotten[-1][1]
        told.append(f"{number} message{'s' * (number > 1)} of the conversation left out of the prompt: {why}")
    return told


def _key(key: str | None, held: str) -> str:
    if key is None:
        key = _drawn()
        while key in held:
            key = _drawn()
    elif not key or key in held:
        raise InputError(f"the key {key!r} of the delimiters stands in a passage: a document could forge its frame")
    return key


def _drawn() -> str:
    # In letters alone: digits may cost more, and prompts of the same texts are to cost the same.
    return secrets.token_hex(4).translate(_LETTERS)


def _turns(history: Sequence[Message]) -> list[list[Message]]:
    """The conversation in turns, oldest first: a question and what was said to it, without markers."""
    turns: list[list[Message]] = []
    for message in history:
        if message.role == "system":
            raise InputError("a conversation holds no system messages: the instructions are the template's")
        if message.role == "user" or not turns:
            turns.append([])
        if message.role == "assistant":
            # An answer holds words of documents; its markers number passages that are not offered now.
            resolver = MarkerResolver(known=0)
            message = replace(message, content=escape(resolver.feed(message.content) + resolver.finish()))
        turns[-1].append(message)
    return turns


def _remembered(
    turns: Sequence[list[Message]], most: int | None, room: int, cost_of: Callable[[Sequence[Message]], int]
) -> tuple[list[list[Message]], list[tuple[Message, str]]]:
    """The newest turns that fit, oldest first, and the messages of the others with the reason."""
    kept: list[list[Message]] = []
    reason = ""
    for turn in reversed(turns):
        if most is not None and len(kept) >= most:
            reason = f"older than the last {most} turn{'s' * (most != 1)}"
        elif (cost := cost_of(turn)) > room:
            reason = f"over the budget: needs {cost}, {max(0, room)} tokens are left for the conversation"
        if reason:
            break
        room -= cost
        kept.insert(0, turn)
    left = turns[: len(turns) - len(kept)]
    return kept, [(message, reason) for turn in left for message in turn]


def _relevant(passages: Sequence[Passage], share: float) -> tuple[list[Passage], list[tuple[Passage, str]]]:
    """The passages that are not far below the best, and the others with the reason."""
    best: dict[str, float] = {}
    for passage in passages:
        for stage, hit in passage.legs.items():
            best[stage] = max(best.get(stage, 0.0), hit.score)
    kept: list[Passage] = []
    cut: list[tuple[Passage, str]] = []
    for passage in passages:
        shares = {
            stage: (passage.legs[stage].score if stage in passage.legs else 0.0) / top
            for stage, top in best.items()
            if top > 0
        }
        judged = bool(passage.legs) and passage.hit.stage in ("fused", *best)
        if kept and judged and shares and max(shares.values()) < share:
            told = ", ".join(f"{stage} {max(0.0, value):.2f}" for stage, value in sorted(shares.items()))
            cut.append((passage, f"{_FAR}: shares of the best scores {told}, the least is {share:.2f}"))
        else:
            kept.append(passage)
    return kept, cut


def _in_order(kept: Sequence[Passage], order: Order) -> list[Passage]:
    return [*kept[0::2], *reversed(kept[1::2])] if order == "edges" else list(kept)


def _held(passage: Passage) -> str:
    """All that stands in the frame of a passage."""
    return "\n".join((passage.title, passage.location, passage.chunk.document_id, passage.chunk.reading))


def _frame(number: int, passage: Passage, key: str) -> str:
    chunk = passage.chunk
    where = ", ".join(part for part in (_name(passage.title), _name(passage.location)) if part)
    opening = " ".join(f"<source-{key} [{number}] {where} ({_name(chunk.document_id)}@{chunk.version})>".split())
    return f"{opening}\n{escape(chunk.reading)}\n</source-{key}>"


def _name(text: str) -> str:
    """A title or headings on one line. They are data too: they may hold line breaks, angle brackets, a number."""
    seen = "".join(
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf")
    )
    line = " ".join(escape(seen).replace("<", "‹").replace(">", "›").split())
    return line if len(line) <= _NAME else f"{line[: _NAME - 1]}…"
