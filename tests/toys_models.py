"""Small language models of random weights with tokenizers made here, in the folder layout of transformers.

A test that makes one is skipped where torch is not installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SPECIALS = ["<pad>", "<s>", "</s>"]
PAD, BOS, EOS = 0, 1, 2
#: By how much weights are made larger, so that probabilities differ but are not all on one token.
SPREAD = {"t5": 1.5, "bart": 8.0}
#: Byte-level pieces that are more than one byte: " t" "he" "in" …
MERGES = [("t", "h"), ("th", "e"), ("i", "n"), ("Ġ", "t"), ("e", "r"), ("a", "n"), ("Ċ", "Ċ"), ("Ġ", "Q")]


def needed() -> Any:
    """transformers; the test is skipped where it or torch is not installed."""
    pytest.importorskip("torch", reason="torch is not installed")
    return pytest.importorskip("transformers", reason="transformers is not installed")


def byte_tokenizer(opening: bool = True, closing: bool = False) -> Any:
    """A byte-level tokenizer (as of GPT-2, BART, Llama 3): every text comes back as it was."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    transformers = needed()

    pieces = [*SPECIALS, *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in MERGES)]
    tokenizer = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIALS)
    if opening or closing:
        around = ("<s> " if opening else "") + "$A" + (" </s>" if closing else "")
        tokenizer.post_processor = processors.TemplateProcessing(
            single=around, special_tokens=[("<s>", BOS), ("</s>", EOS)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )


def space_tokenizer(*, closing: bool = False) -> Any:
    """A tokenizer that puts "▁" before every text and bytes it does not know as ``<0x0A>`` (as of Llama 2, T5)."""
    from tokenizers import Tokenizer, decoders, models, normalizers, processors

    transformers = needed()

    letters = [chr(i) for i in range(33, 127)]
    pieces = [*SPECIALS, *(f"<0x{i:02X}>" for i in range(256)), "▁", *letters, "th", "the", "▁the", "in"]
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("i", "n")]
    model = models.BPE(
        vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges, byte_fallback=True, fuse_unk=True
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(SPECIALS)
    around = "$A </s>" if closing else "<s> $A"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=around, special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )


def spread(model: Any, factor: float = 8.0) -> Any:
    """The same model with larger matrices: its probabilities then differ from token to token and context to context."""
    import torch

    with torch.no_grad():
        for parameter in {id(each): each for each in model.parameters()}.values():
            if parameter.dim() > 1:
                parameter.mul_(factor)
    return model.eval()


def save(folder: Path, model: Any, tokenizer: Any) -> Path:
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


def seeded(seed: int) -> Any:
    """transformers, with a seed and one thread: the models are so small that threads only wait for each other."""
    transformers = needed()
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    return transformers


def make_causal(folder: Path, kind: str = "llama", *, tokenizer: Any = None, seed: int = 0, **options: Any) -> Path:
    """``llama``, ``gemma3`` with windows of 6 tokens in every other layer, ``gpt2`` with learned positions."""
    transformers = seeded(seed)
    tokenizer = tokenizer or byte_tokenizer()
    shared = {
        "vocab_size": len(tokenizer) + 5,  # rows beyond the tokenizer's, as published models have
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
    }
    config: Any
    if kind == "gpt2":
        config = transformers.GPT2Config(
            **{"n_positions": 128, "n_embd": 32, "n_layer": 2, "n_head": 4} | shared | options
        )
    else:
        shape = {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "max_position_embeddings": 256,
        } | shared
        if kind == "gemma3":
            shape |= {
                "num_hidden_layers": 4,
                "sliding_window": 6,
                "layer_types": ["sliding_attention", "full_attention"] * 2,
                "query_pre_attn_scalar": 8,
            }
            config = transformers.Gemma3TextConfig(**shape | options)
        else:
            config = transformers.LlamaConfig(**shape | options)
    model = transformers.AutoModelForCausalLM.from_config(config)
    return save(folder, spread(model), tokenizer)


def seq2seq_config(kind: str, vocabulary: int, **options: Any) -> Any:
    import transformers

    if kind == "t5":
        return transformers.T5Config(
            **{
                "vocab_size": vocabulary,
                "d_model": 32,
                "d_kv": 8,
                "d_ff": 48,
                "num_layers": 2,
                "num_heads": 4,
                "relative_attention_num_buckets": 8,
                "relative_attention_max_distance": 20,
                "decoder_start_token_id": PAD,
                "pad_token_id": PAD,
                "eos_token_id": EOS,
            }
            | options
        )
    return transformers.BartConfig(
        **{
            "vocab_size": vocabulary,
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "max_position_embeddings": 128,
            # Tied, a model of random weights says again what it was given last.
            "tie_word_embeddings": False,
            "decoder_start_token_id": EOS,
            "forced_eos_token_id": None,
            "bos_token_id": BOS,
            "pad_token_id": PAD,
            "eos_token_id": EOS,
        }
        | options
    )


def make_seq2seq(folder: Path, kind: str = "t5", *, tokenizer: Any = None, seed: int = 0, forced: bool = True) -> Path:
    """``t5`` or ``bart``; BART states a forced first token, ``<s>``, in its generation configuration."""
    transformers = seeded(seed)
    tokenizer = tokenizer or byte_tokenizer(opening=kind == "bart", closing=True)
    model = transformers.AutoModelForSeq2SeqLM.from_config(seq2seq_config(kind, len(tokenizer) + 5))
    if kind == "bart" and forced:
        model.generation_config.forced_bos_token_id = BOS
    return save(folder, spread(model, SPREAD[kind]), tokenizer)


def make_rag(kind: str = "sequence", *, generator: str = "bart", seed: int = 0, **options: Any) -> Any:
    """A ``RagSequenceForGeneration`` or ``RagTokenForGeneration`` of random weights, without a retriever."""
    transformers = seeded(seed)
    tokenizer = byte_tokenizer(closing=True)
    question = transformers.DPRConfig(
        vocab_size=64,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    config = transformers.RagConfig.from_question_encoder_generator_configs(
        question,
        seq2seq_config(generator, len(tokenizer) + 5),
        **{
            "bos_token_id": BOS,
            "pad_token_id": PAD,
            "eos_token_id": EOS,
            "decoder_start_token_id": EOS if generator == "bart" else PAD,
            "vocab_size": len(tokenizer) + 5,
        }
        | options,
    )
    name = "RagSequenceForGeneration" if kind == "sequence" else "RagTokenForGeneration"
    model = getattr(transformers, name)(config)
    spread(model.rag.generator, SPREAD[generator])
    return model.eval()


def save_rag(folder: Path, model: Any) -> Path:
    """A checkpoint of it in the layout of the published ones."""
    model.save_pretrained(str(folder))
    byte_tokenizer(closing=True).save_pretrained(str(folder / "generator_tokenizer"))
    byte_tokenizer(closing=True).save_pretrained(str(folder / "question_encoder_tokenizer"))
    return folder
