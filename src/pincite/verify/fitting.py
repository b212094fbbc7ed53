"""Whether a sentence is about what a provision says."""

from __future__ import annotations

from pincite.words import content_words

__all__ = ["fit"]

#: Words of every sentence about a provision, which say nothing of what it is about.
_LEGAL = frozenset(
    content_words(
        "section sections article articles act code law provision provisions provides provide says under penal "
        "criminal procedure constitution india indian court accused case offence offences read charge charged "
        "convicted conviction punishable sub clause person state states sanhita bharatiya nyaya nagarik suraksha ipc "
        "crpc bns "
        "bnss said shall deals deal held right appeal counsel appellant respondent petitioner",
    )
)


def fit(sentence: str, text: str, named: str = "") -> float:
    """The share of a sentence's own words that are in a provision's text, in [0, 1]; 0 where it has too few.

    `named` is the authority as the sentence names it: its words do not count.
    """
    own = [
        word
        for word in dict.fromkeys(content_words(sentence.replace(named, " ") if named else sentence))
        if word not in _LEGAL and not word[0].isdigit() and len(word) > 2
    ]
    if not own:
        return 0.0
    there = set(content_words(text))
    share = sum(word in there for word in own) / len(own)
    # One word that agrees is chance.
    return share if len(own) >= 2 else 0.7 * share
