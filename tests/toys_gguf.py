"""Small language models of random weights in GGUF format, for what runs in llama.cpp."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, Literal

import numpy as np

Vocabulary = Literal["pieces", "pieces, spaces", "bytes"]

_WORDS = ["the", " the", " lease", " house", "in", " in", "ab", "\n\n"]


def make_gguf(
    path: Path, vocabulary: Vocabulary = "pieces", *, quantized: bool = True, seed: int = 0, **extra: Any
) -> None:
    """A decoder of the Llama family with two layers.

    vocabulary: "pieces" of a sentence-piece model without a space before every text, "pieces, spaces" with one,
        "bytes" of a byte-level model. All can write anything.
    quantized: weights of eight bits (Q8_0), else float32.
    extra: entries of the file's header that replace its own.
    """
    tokens, scores, kinds, header = _pieces() if vocabulary != "bytes" else _byte_level()
    width, inner, heads = 32, 64, 2
    header = {
        "general.architecture": "llama",
        "llama.context_length": 4096,
        "llama.embedding_length": width,
        "llama.block_count": 2,
        "llama.feed_forward_length": inner,
        "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": 1,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": width // heads,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.add_space_prefix": vocabulary == "pieces, spaces",
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        **header,
        **extra,
    }
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return rng.normal(0, 2 / np.sqrt(shape[-1]), shape).astype(np.float32)

    ones = np.ones(width, np.float32)
    tensors = {"token_embd.weight": weights(len(tokens), width), "output_norm.weight": ones}
    tensors["output.weight"] = weights(len(tokens), width)
    for i in range(2):
        tensors |= {
            f"blk.{i}.attn_norm.weight": ones,
            f"blk.{i}.attn_q.weight": weights(width, width),
            f"blk.{i}.attn_k.weight": weights(width // heads, width),
            f"blk.{i}.attn_v.weight": weights(width // heads, width),
            f"blk.{i}.attn_output.weight": weights(width, width),
            f"blk.{i}.ffn_norm.weight": ones,
            f"blk.{i}.ffn_gate.weight": weights(inner, width),
            f"blk.{i}.ffn_up.weight": weights(inner, width),
            f"blk.{i}.ffn_down.weight": weights(width, inner),
        }
    path.write_bytes(_file(header, tensors, quantized))


def _pieces() -> tuple[list[str], list[float], list[int], dict[str, Any]]:
    """Tokens, scores, kinds (2 unknown, 3 control, 6 byte, 1 text) of a sentence-piece model."""
    words = [word.replace(" ", "▁") for word in _WORDS]
    letters = sorted({c for word in words for c in word} | set("abcdefghijklmnopqrstuvwxyz0123456789,.?:;▁"))
    # Everything that merging passes through on the way to a word.
    steps = sorted({word[:n] for word in words for n in range(2, len(word) + 1)}, key=lambda step: (len(step), step))
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *steps]
    scores = [0.0] * 259 + [-100.0] * len(letters) + [-float(i) for i in range(len(steps))]
    kinds = [2, 3, 3, *[6] * 256, *[1] * (len(letters) + len(steps))]
    return tokens, scores, kinds, {"tokenizer.ggml.model": "llama"}


def _byte_level() -> tuple[list[str], list[float], list[int], dict[str, Any]]:
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in shown}
    letters |= {byte: chr(0x100 + i) for i, byte in enumerate(b for b in range(256) if b not in shown)}
    tokens = ["<unk>", "<s>", "</s>", *(letters[byte] for byte in range(256)), "th", "the", "Ġthe", "ĊĊ"]
    header = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.merges": ["t h", "th e", "Ġ the", "Ċ Ċ"],
        "tokenizer.ggml.add_bos_token": True,
    }
    return tokens, [0.0] * len(tokens), [2, 3, 3, *[1] * (len(tokens) - 3)], header


def _file(header: dict[str, Any], tensors: dict[str, np.ndarray], quantized: bool) -> bytes:
    """Version 3 of the format: header, list of tensors, their numbers; each at a multiple of 32 bytes."""
    listed, data = b"", b""
    for name, values in tensors.items():
        kind, raw = (8, _q8(values)) if quantized and values.ndim == 2 else (0, values.tobytes())
        listed += _string(name) + struct.pack("<I", values.ndim)
        listed += struct.pack(f"<{values.ndim}Q", *values.shape[::-1]) + struct.pack("<IQ", kind, len(data))
        data += raw + b"\0" * (-len(raw) % 32)
    entries = b"".join(_string(key) + _value(value) for key, value in header.items())
    front = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(header)) + entries + listed
    return front + b"\0" * (-len(front) % 32) + data


def _q8(values: np.ndarray) -> bytes:
    """Blocks of 32: a scale in half precision and 32 bytes."""
    blocks = values.reshape(-1, 32)
    scales = (abs(blocks).max(axis=1) / 127).astype("<f2")
    steps = np.rint(blocks / scales.astype(np.float32)[:, None]).clip(-127, 127).astype(np.int8)
    return b"".join(scale.tobytes() + step.tobytes() for scale, step in zip(scales, steps, strict=True))


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, list):
        items = [struct.pack("<Ii", 5, each) if isinstance(each, int) else _value(each) for each in value]
        return struct.pack("<I", 9) + items[0][:4] + struct.pack("<Q", len(items)) + b"".join(i[4:] for i in items)
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    return struct.pack("<I", 8) + _string(value)
