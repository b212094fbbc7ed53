"""From the settings to what checks answers: which name of `support.model` stands for which class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pincite.answer_models import build_generator, build_scorer
from pincite.config import Settings
from pincite.errors import ConfigError

if TYPE_CHECKING:
    from pincite.protocols import Encoder, SupportScorer

__all__ = ["build_support"]


def build_support(settings: Settings, encoder: Encoder) -> SupportScorer:
    """The scorer that `support.model` names; no weights are loaded and no endpoint is asked yet.

    ``judge`` asks the model of `answer.model`, in an instance of its own: what answers keeps what it has read. Raises
    ConfigError, InputError or MissingExtraError for one that cannot run.
    """
    chosen = settings.support
    kind, _, name = chosen.model.partition(":")
    given: dict[str, Any] = {} if chosen.threshold is None else {"threshold": chosen.threshold}
    if kind == "lexical" and not name:
        from pincite.support.lexical import LexicalSupport

        if given:
            raise ConfigError("support.threshold is of semantic, nli and a judge that scores; lexical has none")
        return LexicalSupport(encoder)
    if kind == "semantic" and not name:
        from pincite.support.semantic import SemanticSupport

        return SemanticSupport(encoder, **given)
    if kind == "nli" and name:
        from pincite.support.nli import NliSupport

        return NliSupport(name, threads=settings.encoder.threads, **given)
    if kind == "judge" and not name:
        return _judge(settings, encoder, given)
    raise ConfigError(
        f"support.model {chosen.model!r} is not known; there are: lexical, semantic, nli:PATH (or a hub name), judge"
    )


def _judge(settings: Settings, encoder: Encoder, given: dict[str, Any]) -> SupportScorer:
    from pincite.support.by_generator import ReplyJudge, TokenJudge

    kind, _, name = settings.answer.model.partition(":")
    if kind in ("openai", "ollama") and name:
        if given:
            raise ConfigError("support.threshold is of a judge that scores; an endpoint replies with a letter")
        # The most certain reply, and the same again.
        certain = settings.model_copy(
            update={"answer": settings.answer.model_copy(update={"temperature": 0.0, "marginalize": "none"})}
        )
        return ReplyJudge(build_generator(certain, encoder))
    if kind == "local" and not name:
        raise ConfigError(
            "support.model is judge, and the small model of answer.model local tells right from wrong no better than "
            "chance (docs/decisions/0019-support.md): name a larger one, local:PATH or openai:NAME"
        )
    if kind in ("local", "transformers") and name:
        return TokenJudge(build_scorer(settings), rows=settings.answer.passages, **given)
    raise ConfigError(
        f"support.model is judge, and answer.model {settings.answer.model!r} cannot be asked; there are: "
        "local:PATH, transformers:NAME, openai:NAME, ollama:NAME"
    )
