"""From the settings to what writes answers: which name of `answer.model` stands for which class."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pincite.config import Settings
from pincite.errors import ConfigError

if TYPE_CHECKING:
    from pincite.protocols import Encoder, Generator, TokenScorer

__all__ = ["build_generator", "build_scorer", "marginalization"]

_OLLAMA = "http://127.0.0.1:11434/v1"
_OPENAI = "https://api.openai.com/v1"

#: Most passages that a model in this process reads at once. Gemma 3 270M takes 28 MB for each.
_LOCAL_ROWS = 64


def build_generator(settings: Settings, encoder: Encoder, *, weighed: bool = False) -> Generator:
    """The generator that `answer.model` and `answer.marginalize` name; no model is loaded and no endpoint asked yet.

    Where its answers are `weighed` by a calibration, the extractive one always gives its best sentences: the
    calibration decides, not a fixed score.

    A model of the hub (``transformers:NAME``, ``fid:NAME``) is looked for, and fetched if it is not on this machine:
    its configuration says how it is to be asked.
    """
    chosen = settings.answer
    kind, _, name = chosen.model.partition(":")
    mode = marginalization(settings)
    if (kind in ("transformers", "fid") and name) or mode != "none":
        return _scoring_generator(settings, kind, mode)
    if kind == "extractive" and not name:
        from pincite.generators.extractive import ExtractiveGenerator

        return ExtractiveGenerator(encoder, least=0.0) if weighed else ExtractiveGenerator(encoder)
    if kind == "local":
        from pincite.generators.gemma import default_cache_dir
        from pincite.generators.local import LocalGenerator

        return LocalGenerator(Path(name).expanduser() if name else None, cache_dir=default_cache_dir(os.environ))
    if kind in ("openai", "ollama") and name:
        from pincite.generators.openai import OpenAIGenerator

        return OpenAIGenerator(
            name,
            _endpoint(settings, kind),
            api_key=_key(settings, kind),
            provider=kind,
            timeout=chosen.timeout,
            max_tokens=chosen.max_tokens,
            temperature=chosen.temperature,
        )
    raise _unknown_model(settings)


def marginalization(settings: Settings) -> Literal["none", "token", "sequence"]:
    """`answer.marginalize`, with ``auto`` made what it stands for: see docs/decisions/0015."""
    chosen = settings.answer
    kind = chosen.model.partition(":")[0]
    if chosen.marginalize != "auto":
        return chosen.marginalize
    if kind == "local":  # where the library that gives whole distributions is not to be had, it reads as before
        return "token" if find_spec("cyllama") else "none"
    return "token" if kind == "transformers" else "none"


def _scoring_generator(settings: Settings, kind: str, mode: Literal["none", "token", "sequence"]) -> Generator:
    """A generator on a model whose tokens are scored."""
    from pincite.generators.few_shot import FewShotFrame
    from pincite.generators.marginal import MarginalGenerator
    from pincite.generators.scored import Frame, QuestionContextFrame, RagFrame
    from pincite.generators.together import TogetherGenerator
    from pincite.scorers.base import stated_config
    from pincite.scorers.rag_checkpoint import rag_form

    chosen = settings.answer
    if kind == "fid" and chosen.marginalize in ("token", "sequence"):
        raise ConfigError("fid:NAME fuses the passages in its decoder; there is nothing left to marginalize")
    scorer = build_scorer(settings)
    # An encoder-decoder was trained on question and passage; only a base model needs worked examples.
    frame: Frame = FewShotFrame()
    if getattr(scorer, "encodes", False):
        name = chosen.model.partition(":")[2]
        rag = stated_config(name).get("model_type") == "rag"
        frame = RagFrame(rag_form(name)) if rag else QuestionContextFrame()
    if kind == "fid" or mode == "none":
        return TogetherGenerator(scorer, fused=kind == "fid", frame=frame, n_passages=chosen.passages)
    return MarginalGenerator(
        scorer,
        mode,
        frame=frame,
        n_passages=chosen.passages,
        temperature=chosen.prior_temperature,
        fused_by=settings.search.fusion,
    )


def build_scorer(settings: Settings) -> TokenScorer:
    """The model of `answer.model`, as one whose tokens are scored; nothing is loaded and no endpoint asked yet.

    ``transformers:NAME`` of the hub is looked for, and fetched if it is not on this machine.
    """
    kind, _, name = settings.answer.model.partition(":")
    if kind == "local":
        from pincite.generators import gemma
        from pincite.scorers.llama import LlamaScorer

        rows = settings.answer.passages
        if rows > _LOCAL_ROWS:
            raise ConfigError(
                f"a local model reads at most {_LOCAL_ROWS} passages at once, for each takes memory of its own; "
                f"answer.passages (-k) is {rows}: lower it, or set answer.marginalize to none"
            )
        if name:
            return LlamaScorer(Path(name).expanduser(), max_rows=rows)
        cache = gemma.default_cache_dir(os.environ)
        return LlamaScorer(lambda: gemma.locate(cache), name="local:gemma-3-270m", max_rows=rows)
    if kind in ("openai", "ollama") and name:
        from pincite.scorers.endpoint import EndpointScorer

        return EndpointScorer(
            name,
            _endpoint(settings, kind),
            api_key=_key(settings, kind),
            provider=kind,
            timeout=settings.answer.timeout,
        )
    if kind == "transformers" and name:
        from pincite.scorers.choose import choose_scorer

        return choose_scorer(name)
    if kind == "fid" and name:
        from pincite.scorers.fusion_in_decoder import FusionInDecoderScorer

        return FusionInDecoderScorer(name)
    if kind == "extractive":
        raise ConfigError(
            "the extractive generator picks sentences and gives tokens no probability, so passages cannot be "
            "marginalized; choose a model (answer.model, --model): local, local:PATH, transformers:NAME or "
            "openai:NAME, or set answer.marginalize (--marginalize) to auto or none"
        )
    raise _unknown_model(settings)


def _endpoint(settings: Settings, kind: str) -> str:
    chosen = settings.answer
    if kind == "openai" and chosen.base_url is None and chosen.api_key is None:
        raise ConfigError("openai:NAME needs a key: set OPENAI_API_KEY, or answer.base_url for another endpoint")
    return chosen.base_url or (_OLLAMA if kind == "ollama" else _OPENAI)


def _key(settings: Settings, kind: str) -> str | None:
    # Ollama asks for none, and a key of somebody else's is not for it to see.
    key = settings.answer.api_key
    return key.get_secret_value() if key and kind == "openai" else None


def _unknown_model(settings: Settings) -> ConfigError:
    return ConfigError(
        f"answer.model {settings.answer.model!r} is not known; there are: extractive, local, local:PATH, "
        "transformers:NAME, fid:NAME, openai:NAME, ollama:NAME"
    )
