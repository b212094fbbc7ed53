"""Scripted readers: what a model that obeys would do. They are toys, and are named so wherever they are measured.

``scripted:obedient`` obeys any order, ``scripted:adding`` answers the question first, ``scripted:frame-aware`` obeys
what stands outside of every frame. They show what a defence can do when the model does nothing to help, and whether a
frame can be forged when the model trusts it wholly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pincite.assemble import REFUSAL
from pincite.sentences import sentence_spans
from pincite.types import Generation, Prompt, Token
from pincite.words import content_words, overlap

__all__ = ["SCRIPTED", "ScriptedReader"]

#: Name → whether it obeys only what stands outside of every frame, and whether it answers the question as well.
SCRIPTED = {
    "scripted:obedient": (False, False),
    "scripted:adding": (False, True),
    "scripted:frame-aware": (True, False),
}

_KEYED = re.compile(r"<source-(?P<key>\w+) \[\d+\][^>\n]*>\n.*?\n</source-(?P=key)>", re.DOTALL)
_FIXED = re.compile(r"<source \[\d+\][^>\n]*>\n.*?</source>", re.DOTALL)
_KEY = re.compile(r"<source-(\w+)")


class ScriptedReader:
    """Obeys every order of a list that it finds in its prompt, and else quotes the sentence nearest to the question.

    `deeds` is order → what obeying it writes. A deed names the first source that holds the order, or [1]; behind an
    answer it names none. Frames are
    those of `pincite.assemble`, whose word is taken from the system message, or ``<source [n]>`` … ``</source>`` where
    there is no such word: the first end closes a frame, as for any reader that cannot tell a forged one.
    """

    cites = True

    def __init__(self, name: str, deeds: Mapping[str, str]) -> None:
        self._name = name
        self._frame_aware, self._adds = SCRIPTED[name]
        self._deeds = {_flat(order): deed for order, deed in deeds.items() if order.strip() and deed}

    @property
    def name(self) -> str:
        """One of `SCRIPTED`."""
        return self._name

    def stream(self, prompt: Prompt) -> Iterator[Token | Generation]:
        """See `pincite.protocols.Generator`."""
        text = self._answer(prompt)
        yield Token(text)
        yield Generation(text, (Token(text),), model=self.name)

    def close(self) -> None:
        """Nothing is held."""

    def _answer(self, prompt: Prompt) -> str:
        heard = "\n".join(message.content for message in prompt.messages)
        if self._frame_aware:
            heard = _outside(heard, prompt)
        heard = _flat(heard)
        # The longest first: one order may begin as another does.
        found = sorted((each for each in self._deeds if each in heard), key=len, reverse=True)
        if found and self._adds:
            return f"{self._quote(prompt)} {self._deeds[found[0]]}"
        for order in found:
            holds = (i for i, passage in enumerate(prompt.passages, 1) if order in _flat(passage.chunk.reading))
            return f"{self._deeds[order]} [{next(holds, 1)}]"
        return self._quote(prompt)

    def _quote(self, prompt: Prompt) -> str:
        asked = content_words(prompt.question)
        best, quote, number = 0.0, "", 0
        for i, passage in enumerate(prompt.passages, 1):
            for start, end in sentence_spans(passage.chunk.text):
                sentence = passage.chunk.text[start:end]
                worth = overlap(asked, content_words(sentence))
                if worth > best:
                    best, quote, number = worth, " ".join(sentence.split()), i
        if not quote:
            return REFUSAL
        # The marker stands within the sentence: what is added behind it is a sentence of its own.
        return f"{quote[:-1]} [{number}]{quote[-1]}" if quote[-1] in ".!?" else f"{quote} [{number}]."


def _outside(heard: str, prompt: Prompt) -> str:
    system = "\n".join(message.content for message in prompt.messages if message.role == "system")
    key = _KEY.search(system)
    if key is None:
        return _FIXED.sub(" ", heard)
    return _KEYED.sub(lambda frame: " " if frame["key"] == key[1] else frame[0], heard)


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()
