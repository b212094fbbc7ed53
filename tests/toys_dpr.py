"""Small DPR towers of random weights with a WordPiece tokenizer, in the folder layout of the published ones.

A test that makes one is skipped where torch is not installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toys_models import byte_tokenizer, needed, save, seeded, seq2seq_config, spread

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "word",
    "elephant",
    "text",
    "number",
    "thread",
    "tenant",
    "rent",
    "pays",
    "paid",
    "cafe",
    "same",
    "other",
    "hello",
    "title",
    "the",
    "of",
    "by",
    "is",
]


def wordpiece_tokenizer() -> Any:
    """As of BERT uncased: words of `WORDS`, else letters and digits; ``[CLS] A [SEP]``, ``[CLS] A [SEP] B [SEP]``."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    transformers = needed()
    signs = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    pieces = [*SPECIALS, *signs, *(f"##{sign}" for sign in signs), *WORDS]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIALS)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    )


def dpr_config(**options: Any) -> Any:
    """40 positions, vectors of 32 numbers."""
    return needed().DPRConfig(
        **{
            "vocab_size": len(wordpiece_tokenizer()),
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 48,
            "max_position_embeddings": 40,
        }
        | options
    )


def make_dpr(folder: Path, class_name: str, *, seed: int = 0, **options: Any) -> Path:
    """A ``DPRQuestionEncoder`` or ``DPRContextEncoder``."""
    model = getattr(seeded(seed), class_name)(dpr_config(**options))
    return save(folder, spread(model, 4.0), wordpiece_tokenizer())


def make_pair(folder: Path, *, seed: int = 0, **options: Any) -> tuple[str, str]:
    """The folders of a question tower and a passage tower of different weights."""
    question = make_dpr(folder / "question", "DPRQuestionEncoder", seed=seed, **options)
    passage = make_dpr(folder / "passage", "DPRContextEncoder", seed=seed + 1, **options)
    return str(question), str(passage)


def make_dpr_rag(folder: Path, *, class_name: str = "RagSequenceForGeneration", seed: int = 5) -> Path:
    """A RAG checkpoint whose question encoder reads WordPiece and whose generator reads bytes."""
    transformers = seeded(seed)
    generator = byte_tokenizer(closing=True)
    config = transformers.RagConfig.from_question_encoder_generator_configs(
        dpr_config(), seq2seq_config("bart", len(generator)), vocab_size=len(generator)
    )
    model = getattr(transformers, class_name)(config)
    spread(model.question_encoder if class_name == "RagModel" else model.rag.question_encoder, 4.0)
    model.eval().save_pretrained(str(folder))
    generator.save_pretrained(str(folder / "generator_tokenizer"))
    wordpiece_tokenizer().save_pretrained(str(folder / "question_encoder_tokenizer"))
    return folder
