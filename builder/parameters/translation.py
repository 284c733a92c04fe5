"""Section `[translate]`: parameters of the translation from French to English."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from builder.parameters.section import Section

CTRANSLATE2 = "ctranslate2"
Outcome = Literal["keep", "source", "drop"]
"""How to treat a flagged translation: keep it, use the source sentence, or drop the sentence."""


class TranslationParameters(Section):
    """Section `[translate]`: translation from French to English."""

    model: Path | None = Field(
        default=None,
        description="Folder of a CTranslate2 model, or `embedded` for the model bundled with the "
        "package; default: the bundled model if `collection.languages` contains `en`, otherwise "
        "no translation",
    )
    engine: str = Field(
        default=CTRANSLATE2,
        description="Inference engine: ctranslate2, or the name of a plug-in",
    )
    compute_type: str = Field(
        default="int8", description="CTranslate2 compute type, such as int8 or float32"
    )
    device: Literal["cpu", "cuda"] = Field(
        default="cpu", description="Device that runs the model: cpu or cuda"
    )
    source_prefix: str | None = Field(
        default=None, description="Source-language token of a multilingual model, such as fra_Latn"
    )
    target_prefix: str | None = Field(
        default=None, description="Target-language token of a multilingual model, such as eng_Latn"
    )
    beam_size: int = Field(
        default=1, ge=1, le=64, description="Beam size; 1 selects greedy decoding"
    )
    max_source_pieces: int = Field(
        default=128,
        ge=8,
        le=4096,
        description="Maximum number of source tokens per model input; longer sentences are split "
        "at clause boundaries",
    )
    max_target_pieces: int = Field(
        default=256,
        ge=8,
        le=4096,
        description="Maximum number of output tokens per sentence, or per part of a split sentence",
    )
    batch_tokens: int = Field(
        default=2048, ge=1, le=2**20, description="Maximum number of source tokens per batch"
    )
    batching: Literal["exact", "fast"] = Field(
        default="exact",
        description="Whether the other sentences in a batch may affect a translation. exact: no; "
        "with compute types other than int8, every batch then has only one sentence. fast: yes, "
        "through rounding errors",
    )
    retry: bool = Field(
        default=True,
        description="Retry with beam size 4 and no repeated 4-grams if an output is empty, "
        "truncated, repetitive, of abnormal length or still French",
    )
    on_english: Literal["source", "keep"] = Field(
        default="source",
        description="What to use for sentences that are already English. source: the sentence "
        "itself; keep: the output of the model",
    )
    on_empty_output: Literal["source", "drop"] = Field(
        default="source",
        description="What to use if the model returns no output. source: the "
        "source sentence; drop: nothing",
    )
    on_truncated: Outcome = Field(
        default="source",
        description="What to use for a translation truncated at the maximum "
        "length. keep: the translation; source: the source sentence; drop: nothing",
    )
    on_repetition: Outcome = Field(
        default="source",
        description="Same values as `on_truncated`, for translations that repeat a phrase "
        "endlessly",
    )
    on_length_ratio: Outcome = Field(
        default="keep",
        description="Same values as `on_truncated`, for translations that are much longer or "
        "shorter than the source",
    )
    on_copied_source: Outcome = Field(
        default="keep",
        description="Same values as `on_truncated`, for translations that are still French",
    )
    on_numbers_differ: Outcome = Field(
        default="keep",
        description="Same values as `on_truncated`, for translations with other numbers than the "
        "source",
    )
    on_unknown_characters: Outcome = Field(
        default="keep",
        description="Same values as `on_truncated`, for translations of sentences with tokens that "
        "the model does not know",
    )
