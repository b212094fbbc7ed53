"""Follow-up questions: what to search for when a question leans on the ones before it.

"and the X300?" finds nothing by itself. A chat model is asked to make it stand alone, and its reply is checked; without
one the question before helps out, by rules. The model that answers is given the question as it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pincite.assemble import escape
from pincite.errors import BackendError
from pincite.markers import MarkerResolver
from pincite.prompt_template import packaged
from pincite.protocols import ChatModel
from pincite.sentences import sentence_spans
from pincite.types import Chunk, Hit, Message, Passage, SearchResult
from pincite.words import all_words, content_words, has_content

if TYPE_CHECKING:
    from pincite.protocols import Generator

__all__ = ["LONGEST", "StandAlone", "by_model", "by_rules", "stand_alone", "with_earlier"]

#: Characters of a question that stands alone, made of a follow-up; what is longer is none.
LONGEST = 400
#: Tokens a model may take for it.
_TOKENS = 160
#: Turns that a model is shown, and characters of each answer in them.
_SHOWN_TURNS, _SHOWN_CHARACTERS = 4, 600
#: Share of the content words of a model's question that must stand in the conversation: it is to bring nothing new.
_FROM_CONVERSATION = 0.6


@dataclass(frozen=True, slots=True)
class StandAlone:
    """A question made to stand alone, or left as it is."""

    question: str  #: as it was asked
    searched: str  #: what retrieval is to be asked
    before: str = ""  #: what retrieval was asked the turn before, whose evidence may still be wanted; empty: none
    note: str = ""  #: what went wrong, or why nothing was tried

    @property
    def differs(self) -> bool:
        """Whether another question is searched for than was asked."""
        return self.searched != self.question


def stand_alone(question: str, history: Sequence[Message], generator: Generator | None = None) -> StandAlone:
    """`question` as it can be searched for without the conversation before it.

    A `generator` that is a `ChatModel` and cites is asked (`by_model`); for any other rules decide (`by_rules`). Every
    failure leaves the question as it is, with a note. The first question of a conversation is left as it is.
    """
    if not any(message.role == "user" for message in history):
        return StandAlone(question, question)
    ruled = by_rules(question, history)
    if generator is None or not generator.cites or not isinstance(generator, ChatModel):
        return ruled
    before = _Talk.of(history).searched
    failed = "the question was searched for as it stands"
    try:
        reply = by_model(question, history, generator)
    except BackendError as error:
        return StandAlone(question, question, before, f"{failed}: {error}")
    if problem := _problem(reply, question, history):
        return StandAlone(question, question, before, f"{failed}: {problem}")
    same = all_words(reply) == all_words(question)
    return StandAlone(question, question if same else reply, "" if same and not ruled.before else before)


def with_earlier(found: SearchResult, earlier: SearchResult, k: int) -> SearchResult:
    """`found` with the best of what the turn before was answered from, at the end; `k` passages at most.

    A third of the places are for that, as far as it was not found again. Its scores are of another question: each has
    that of the last passage found, and no legs.
    """
    taken = [passage.chunk for passage in found.passages]
    fresh = [each for each in earlier.passages if not any(_overlap(each, chunk) for chunk in taken)][: k // 3]
    if not fresh or not found.passages:
        return found
    kept = found.passages[: k - len(fresh)]
    last = kept[-1].hit
    behind = (
        replace(each, hit=Hit(each.chunk.id, last.score, last.rank + i, last.stage), legs={})
        for i, each in enumerate(fresh, start=1)
    )
    return replace(found, passages=(*kept, *behind))


def _overlap(passage: Passage, other: Chunk) -> bool:
    chunk = passage.chunk
    same = (chunk.document_id, chunk.version) == (other.document_id, other.version)
    return same and chunk.start < other.end and other.start < chunk.end


# With a model


def by_model(question: str, history: Sequence[Message], model: ChatModel) -> str:
    """What the model makes of it: its reply without white space and quotation marks around it, not yet checked."""
    template = packaged("stand-alone-1", "stand-alone")
    system, user = template.fill(history=_shown(history), question=" ".join(question.split()))
    reply = model.complete([Message("system", system), Message("user", user)], max_tokens=_TOKENS)
    return reply.text.strip().strip("\"“”'`").strip()


def _shown(history: Sequence[Message]) -> str:
    """The last turns on a line for each message, long answers cut."""
    asked = [i for i, message in enumerate(history) if message.role == "user"][-_SHOWN_TURNS:]
    lines = []
    for message in history[asked[0] if asked else 0 :]:
        text = " ".join(escape(_without_markers(message.content)).split())
        if message.role == "assistant" and len(text) > _SHOWN_CHARACTERS:
            text = f"{text[:_SHOWN_CHARACTERS]}…"
        lines.append(f"{'Question' if message.role == 'user' else 'Answer'}: {text}")
    return "\n".join(lines)


def _problem(reply: str, question: str, history: Sequence[Message]) -> str:
    """Why `reply` cannot be searched for; empty where it can."""
    if not reply:
        return "the model wrote nothing for it"
    if "\n" in reply or len(reply) > max(LONGEST, len(question)):
        return "the model wrote more than one question for it"
    if not has_content(reply):
        return f"the model wrote {reply!r} for it"
    names = {word for word in all_words(question) if any(c.isdigit() for c in word)}
    if lost := sorted(names - set(all_words(reply))):
        return f"the model left {lost[0]!r} out of it"
    known = set(all_words("\n".join([question, *(message.content for message in history)])))
    words = content_words(reply)
    if sum(word in known for word in words) < _FROM_CONVERSATION * len(words):
        return f"the model wrote {reply[:80]!r} for it, which is about something else"
    return ""


# By rules

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|am|be|do|does|did|can|could|shall|should|will|would|may|might|must|has|have|had)\b", re.I
)
_ASKS = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|list|show|tell|explain|define|give|name|find|compare|describe|"
    r"summari[sz]e)\b",
    re.IGNORECASE,
)
#: How a question goes on from the one before.
_OPENER = re.compile(
    r"\A(?:(?:ok(?:ay)?|well|so|hm+)\b[\s,]*)*(?:(?:and|or|but|also|then|likewise|same for)\b[\s,]*)*"
    r"(?:(?:what|how) about\b|what (?:of|if)\b)?[\s,]*",
    re.IGNORECASE,
)
_PREPOSITION = r"(?:for|in|on|of|with|without|under|after|before|since|until|by|from|about|at|during|to)"
_BEGINS_LOOSE = re.compile(rf"\A(?:{_PREPOSITION}|if|because|not|only|even)\b", re.IGNORECASE)
_LEAD = re.compile(rf"\A(?:(?:{_PREPOSITION}|not|only|even|the|an?)\b\s*)+", re.IGNORECASE)
# Words that point at what was said. "That" does so at the end of a question, or after these words: elsewhere it may be
# "the rule that …".
_POINTS = re.compile(
    rf"\b(?:this(?! (?:season|year|month|week|day)\b)|these|those|former|latter|the same(?=\s*[?.!]*\Z)|"
    rf"(?:that|which|the other|another) ones?|that(?=\s*[?.!]*\Z)|"
    rf"(?:{_PREPOSITION}|is|was|does|did|can|will|would|and|why) that)\b",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(r"\b(?:it|they|them|he|him|she)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?:its|itself|their|theirs|his|her|hers)\b", re.IGNORECASE)
#: "How long does it take to …", "is it lawful to …": it stands for nothing.
_IMPERSONAL = re.compile(
    r"\bit (?:takes?|costs?) to\b|\bit take\b|\b(?:is|was|be) it (?:\w+ ){1,2}(?:to|that|for|if)\b|"
    r"\bit (?:is|was|would be) (?:\w+ ){1,2}(?:to|that|for|if)\b|\b(?:he|she|they) who\b",
    re.IGNORECASE,
)
_LATIN = re.compile(r"[A-Za-z]")
#: "the tenant … his": whom a possessive may mean is named before it.
_NAMED = re.compile(r"\b(?:(?i:the|an?|any|every|each|no|all) \w+|(?<!\A)[A-Z]\w+)")
#: Where another clause begins: what "it" means there may be named in the one before.
_CLAUSE = re.compile(
    r"\b(?:and|or|but|when|while|as|that|because|if|once|since|before|after|until|says?|said|than)\b|,", re.IGNORECASE
)
#: Content words that name something; and those up to which a question is taken to lean on what was said.
_ENOUGH, _SHORT = 2, 6
#: Of a fragment that begins with a preposition.
_LOOSE = 4
_COURTESY = re.compile(
    r"\b(?:yes|yeah|yep|sure|please|ok(?:ay)?|thanks?|thank you|go on|go ahead|continue|do (?:so|that|it)|right|"
    r"correct|of course|exactly|indeed|tell me|more|details?|in more detail|elaborate)\b",
    re.IGNORECASE,
)


def by_rules(question: str, history: Sequence[Message]) -> StandAlone:
    """What to search for by rules, without a model; they are written for English.

    - Assent and courtesy ("yes, please", "go on") ask what the last answer offered if it ended in a question, behind
      the question that it answered; else what was searched for last.
    - A fragment ("and the X300?") takes the place of the one term of the same shape in what was searched for last: a
      code (X200), a number, a name. Where there is no such term, or more than one, see the next.
    - Other questions that lean on what was said (pronouns, fragments, "Why?") are searched for behind the last one that
      stood alone; a fragment also behind the whole question before it.
    - All others stand alone.
    """
    talk = _Talk.of(history)
    after, leans = talk.followed(question)
    if not leans:
        return StandAlone(question, question)
    if len(after.searched) > max(LONGEST, len(question)):
        note = "the question was searched for as it stands: with the ones before it is too long"
        return StandAlone(question, question, talk.searched, note)
    return StandAlone(question, after.searched, talk.searched)


@dataclass(frozen=True, slots=True)
class _Talk:
    """Where a conversation stands."""

    topic: str = ""  #: the last question that stood alone, or was made to
    asked: str = ""  #: the last whole question, where it leaned on the topic
    fragment: str = ""  #: the last fragment, where nothing could be put in its place
    offer: str = ""  #: the question that the last answer ended in

    @property
    def searched(self) -> str:
        """What is searched for at this point."""
        return " ".join(dict.fromkeys(each for each in (self.topic, self.asked, self.fragment) if each))

    @classmethod
    def of(cls, history: Sequence[Message]) -> _Talk:
        """Followed from the first question to the last answer."""
        talk = cls()
        for message in history:
            if message.role == "user":
                after, _ = talk.followed(message.content)
                # What a model made of it stood alone.
                made = message.searched not in ("", message.content, after.searched)
                talk = cls(message.searched) if made else after
            elif message.role == "assistant":
                talk = replace(talk, offer=_offer(message.content))
        return talk

    def followed(self, question: str) -> tuple[_Talk, bool]:
        """Where it stands when `question` comes next, and whether that leans on what was said."""
        if not self.topic:
            return _Talk(question), False
        question = " ".join(question.split())
        if _assents(question):
            return (_Talk(self.topic, self.offer) if self.offer else replace(self, offer="")), True
        if not _leans(question):
            return _Talk(question), False
        if pair := _replacement(question, self.searched):
            return _Talk(*(_replaced(each, *pair) for each in (self.topic, self.asked, self.fragment))), True
        if _is_fragment(question):
            return _Talk(self.topic, self.asked, question), True
        return _Talk(self.topic, question), True


def _offer(answer: str) -> str:
    """The question that an answer ends in; empty where it does not."""
    text = _without_markers(answer).strip()
    spans = sentence_spans(text)
    return " ".join(text[slice(*spans[-1])].split()) if spans and text.endswith("?") else ""


def _without_markers(text: str) -> str:
    resolver = MarkerResolver(known=0)
    return resolver.feed(text) + resolver.finish()


def _assents(question: str) -> bool:
    rest, found = _COURTESY.subn(" ", question)
    return found > 0 and not any(character.isalnum() for character in rest)


def _is_fragment(question: str) -> bool:
    return not _AUXILIARY.search(_OPENER.sub("", question, count=1))


def _leans(question: str) -> bool:
    if not _LATIN.search(question) and any(map(str.isalpha, question)):
        return False  # nothing is known of other scripts: some put no spaces between words
    content = _weight(question)
    opener = _OPENER.match(question)
    if (opener and opener.end()) or _POINTS.search(question):
        return True
    if (found := _STANDS_FOR.search(question)) and not _IMPERSONAL.search(question) and content <= _SHORT:
        clauses = [clause.start() for clause in _CLAUSE.finditer(question, 0, found.start())]
        return not clauses or _weight(question[: clauses[-1]]) < _ENOUGH
    if found := _POSSESSIVE.search(question):
        before = question[: found.start()]
        return not _NAMED.search(before) and _weight(before) < _ENOUGH
    if not _AUXILIARY.search(question) and not _ASKS.search(question):
        # Two words of content may be a query of their own: "notice period".
        return content <= 1 or (content <= _LOOSE and bool(_BEGINS_LOOSE.match(question)))
    # "Why?", "How long?", "Since when?"; but "What is estoppel?" stands alone.
    return content == 0 or (content <= 1 and len(question.split()) <= 3 and not _AUXILIARY.search(question))


def _weight(text: str) -> int:
    """How many of its words carry meaning."""
    return sum(map(has_content, text.split()))


def _replacement(question: str, before: str) -> tuple[str, str] | None:
    """The one term of `before` whose place the fragment takes, and the fragment's own; None where that is not clear."""
    fragment = _OPENER.sub("", question, count=1)
    lead = _LEAD.match(fragment)
    fragment = fragment[lead.end() if lead else 0 :].strip(" ?.!,")
    if _AUXILIARY.search(fragment) or _ASKS.search(fragment) or _POINTS.search(fragment):
        return None
    terms = _shaped(fragment)
    if not terms and (own := _NAME.fullmatch(fragment)):
        # "of France" gives way to Germany; what stands elsewhere may be anything.
        word = _PREPOSITIONS.search(lead.group()) if lead else None
        old = {name for preposition, name in _placed_names(before) if not word or preposition == word.group().lower()}
        old -= {own.group()}
        return (old.pop(), own.group()) if len(old) == 1 else None
    if len(terms) != 1:
        return None
    ((new, shape),) = terms.items()
    others = fragment.replace(new, " ", 1)
    if has_content(others) and not set(content_words(others)) <= set(all_words(before)):
        return None
    old = {term for term, its in _shaped(before).items() if its == shape and term != new}
    return (old.pop(), new) if len(old) == 1 else None


def _replaced(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)


_PREPOSITIONS = re.compile(rf"\b{_PREPOSITION}\b", re.IGNORECASE)
_TERM = re.compile(r"[^\W_]+(?:[-/.][^\W_]+)*")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_ROMAN = re.compile(r"[IVXLC]{2,}|V|X")
_NAME = re.compile(
    r"[^\W\d_a-z][\w’'-]*(?:\s+(?:of|the|and|de|von|van|der|la)\b(?=\s+[^\W\d_a-z])|\s+[^\W\d_a-z][\w’'-]*)*"
)
_PLACED = re.compile(rf"\b((?i:{_PREPOSITION}))\s+(?:the\s+)?(?={_NAME.pattern})")


def _shaped(text: str) -> dict[str, str]:
    """The terms that count or name something, each with its shape: that of ``X200`` is that of ``X1000``.

    They are words with digits in them, years, and Roman numerals of more than one letter.
    """
    found = {}
    for term in _TERM.findall(text):
        if any(c.isdigit() for c in term):
            runs = re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", term))
            found[term] = "year" if _YEAR.fullmatch(term) else runs
        elif _ROMAN.fullmatch(term):
            found[term] = "roman"
    return found


def _placed_names(text: str) -> list[tuple[str, str]]:
    """Names behind a preposition, each with it; not those that a number follows ("of Article 12")."""
    found = []
    for match in _PLACED.finditer(text):
        name = _NAME.match(text, match.end())
        if name and not re.match(r"\s*\d", text[name.end() :]):
            found.append((match[1].lower(), name.group()))
    return found
