"""How a published RAG checkpoint (``facebook/rag-sequence-nq``, ``facebook/rag-token-nq``) wants its contexts written.

Only its ``config.json`` is read. The model itself is `pincite.scorers.seq2seq.Seq2SeqScorer` on the same folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.errors import InputError
from pincite.scorers.base import stated_config

if TYPE_CHECKING:
    from pincite.protocols import Context

__all__ = ["RagForm", "rag_form"]


@dataclass(frozen=True, slots=True)
class RagForm:
    """The form of a context: ``{prefix}{title}{title_sep}{text}{doc_sep}{question}``.

    As ``RagRetriever.postprocess_docs`` of transformers writes it, but for two things. That one cuts what is beyond
    `max_combined_length` tokens, and so the question; here a context is whole, and one too long for the model is
    refused. And that one takes the question as the question encoder's tokenizer gives it back, in lower case; put it
    in lower case where the numbers are to agree with it.
    """

    title_sep: str = " / "
    doc_sep: str = " // "
    prefix: str = ""
    n_docs: int = 5  #: passages that the model was trained to read
    max_combined_length: int = 300  #: tokens of a context, special ones included, in training

    def context(self, title: str, text: str, question: str) -> Context:
        """A context of one part. A quotation mark at each end of the title is left out; two spaces are made one."""
        title = title.removeprefix('"').removesuffix('"')
        whole = f"{self.prefix}{title}{self.title_sep}{text}{self.doc_sep}{question}"
        return (whole.replace("  ", " "),)


def rag_form(path_or_name: str) -> RagForm:
    """The form that a RAG checkpoint's configuration states; what it leaves out is the default of transformers.

    Raises InputError where there is no such model, and where it is not a RAG checkpoint.
    """
    config = stated_config(path_or_name)
    if config.get("model_type") != "rag":
        raise InputError(
            f"{path_or_name} is no RAG checkpoint: its config.json states model_type {config.get('model_type')!r}"
        )
    plain = RagForm()
    generator = config.get("generator") or {}
    # The retriever looks for the prefix in the generator's configuration alone; the model's own is where it is saved.
    prefix = generator.get("prefix") or config.get("prefix") or ""
    return RagForm(
        title_sep=_text(config, "title_sep", plain.title_sep),
        doc_sep=_text(config, "doc_sep", plain.doc_sep),
        prefix=str(prefix),
        n_docs=_number(config, "n_docs", plain.n_docs),
        max_combined_length=_number(config, "max_combined_length", plain.max_combined_length),
    )


def _text(config: dict[str, object], key: str, plain: str) -> str:
    value = config.get(key)
    return plain if value is None else str(value)


def _number(config: dict[str, object], key: str, plain: int) -> int:
    value = config.get(key)
    if value is None:
        return plain
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"config.json states {key}: {value!r}, which is no number above 0")
    return value
