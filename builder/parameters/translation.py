"""`[translate]`: French to English."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from builder.parameters.section import Section

CTRANSLATE2 = "ctranslate2"
Outcome = Literal["keep", "source", "drop"]
"""What stands for a doubtful translation: itself, its source, or nothing. Always flagged."""


class TranslateParameters(Section):
    """`[translate]`: French to English."""

    model: Path | None = Field(
        default=None,
        description="CTranslate2 model folder, or `embedded` for the one that is shipped; absent: "
        "that one where `collection.languages` has `en`, else translation is off",
    )
    engine: str = Field(
        default=CTRANSLATE2,
        description="What runs the model: ctranslate2, or the name of a plug-in",
    )
    compute_type: str = Field(default="int8", description="CTranslate2 compute type")
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="Where the model runs")
    source_prefix: str | None = Field(
        default=None, description="First source piece of a multilingual model, such as fra_Latn"
    )
    target_prefix: str | None = Field(
        default=None, description="First target piece of a multilingual model, such as eng_Latn"
    )
    beam_size: int = Field(default=1, ge=1, le=64, description="Beam width; 1 is greedy")
    max_source_pieces: int = Field(
        default=128, ge=8, le=4096, description="Longer sentences are split at clause boundaries"
    )
    max_target_pieces: int = Field(
        default=256, ge=8, le=4096, description="Longest output of a sentence or of a part of it"
    )
    batch_tokens: int = Field(default=2048, ge=1, le=2**20, description="Source pieces in a batch")
    batching: Literal["exact", "fast"] = Field(
        default="exact",
        description="exact: no sentence depends on its neighbours, also where that needs batches "
        "of one (other compute types than int8); fast: it may, within rounding",
    )
    retry: bool = Field(
        default=True,
        description="Decode again, with a beam of 4 and no repeated 4-grams, what is empty, "
        "truncated, repetitive, of an abnormal length or still French",
    )
    on_english: Literal["source", "keep"] = Field(
        default="source", description="English sentences: copied, or translated all the same"
    )
    on_empty_output: Literal["source", "drop"] = Field(
        default="source", description="What stands where the model gives nothing"
    )
    on_truncated: Outcome = Field(default="source", description="What stands for a cut output")
    on_repetition: Outcome = Field(
        default="source", description="What stands for an output that repeats itself"
    )
    on_length_ratio: Outcome = Field(
        default="keep", description="What stands for an output of an abnormal length"
    )
    on_copied_source: Outcome = Field(
        default="keep", description="What stands for an output that is still French"
    )
    on_numbers_differ: Outcome = Field(
        default="keep", description="What stands for an output with other digits"
    )
    on_unknown_characters: Outcome = Field(
        default="keep", description="What stands for a sentence with pieces unknown to the model"
    )
