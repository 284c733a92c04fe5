"""Translates texts, files and samples without a collection: `longeval translate`.

Input: texts, a text file or a Parquet table, and a model. Output: their English translations, or
the properties of the model.
"""

from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from builder.errors import FormatError, UsageError
from builder.io import parquet
from builder.io.disk import check_output_is_not_input
from builder.models import bundled_model_folder, is_bundled
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.translation.engine import CTranslate2Engine
from builder.translation.engines import load_engine
from builder.translation.memory import TranslationMemory
from builder.translation.sentences import TextKind, Translation
from builder.translation.stage import MEMORY
from builder.translation.translator import Translator

EXAMPLES = (
    "Comment choisir un vélo pour la ville ?",
    "La bibliothèque est ouverte tous les jours, sauf le lundi.",
    "Le prix comprend le repas et deux nuits à l'hôtel.",
)


def translate_texts(
    texts: list[str],
    params: TranslationParameters,
    limits: ResourceLimits,
    kind: TextKind = TextKind.TEXT,
) -> list[Translation]:
    """Translate texts from French to English, and flag doubtful translations.

    Args:
        texts: Texts or queries.
        params: Parameters of the `[translate]` section; must name a model.
        limits: Number of threads, and the folder for temporary files.
        kind: Kind of the texts: running text or queries.

    Raises:
        UsageError: no model is named, or its folder does not exist.
        FormatError: the folder is not a translation model.
    """
    engine = load_engine(model_folder(params), params, limits.threads)
    with TranslationMemory(limits.scratch / MEMORY) as memory:
        return Translator(engine, memory, params).translate(texts, kind)


def _load_ctranslate2_engine(
    params: TranslationParameters, limits: ResourceLimits
) -> CTranslate2Engine:
    """Load the translation model that the parameters name into CTranslate2.

    Raises:
        UsageError: no model is named, or its folder does not exist.
        FormatError: the folder is not a translation model.
    """
    return CTranslate2Engine.load(model_folder(params), params, limits.threads)


def model_folder(params: TranslationParameters) -> Path:
    """Return the folder of the translation model that the parameters name.

    Raises:
        UsageError: no model is named, or its folder does not exist.
    """
    if params.model is None:
        raise UsageError("expected a translation model, found none; use --model DIR")
    folder = bundled_model_folder() if is_bundled(params.model) else params.model
    if not folder.is_dir():
        raise UsageError(
            f"--model: {folder}: no such folder; expected the folder of a translation model"
        )
    return folder


def translate_file(
    file: Path,
    out: Path | BinaryIO,
    params: TranslationParameters,
    limits: ResourceLimits,
    *,
    column: str = "text",
    kind: str = TextKind.TEXT,
) -> list[Translation]:
    """Translate a text file or a column of a Parquet table, and write the result to a file.

    Args:
        file: UTF-8 text file, or Parquet file (`.parquet`).
        out: Output file of the same type: text with as many lines as the input, or the table with
            the additional columns `<column>_en` and `<column>_flags`. Text can also be written to a
            binary stream.
        params: Parameters of the `[translate]` section; must name a model.
        limits: Number of threads, and the folder for temporary files.
        column: Column of the Parquet table to translate.
        kind: `text`, or `query` if each line or row is one query.

    Returns:
        One translation per table row or, if `kind` is `query`, per line of a text file; a single
        translation for any other text file.

    Raises:
        UsageError: the file or column does not exist, `out` is of another type or is the input, or
            the table already has one of the additional columns.
        FormatError: the file is neither UTF-8 nor Parquet, or the model is invalid.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file; expected a text or Parquet file")
    text_kind = TextKind(kind)
    if isinstance(out, Path):
        if (file.suffix == ".parquet") != (out.suffix == ".parquet"):
            raise UsageError(
                f"--out: expected the same file type as the input {file.name}, found {out.name}"
            )
        check_output_is_not_input(out, file)
        if file.suffix == ".parquet":
            return _translate_table(file, out, params, limits, column, text_kind)
    elif file.suffix == ".parquet":
        raise UsageError(
            f"{file.name}: expected an output file for a Parquet table, found none; use --out"
        )
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text: {error}", file) from None
    texts = text.split("\n") if text_kind is TextKind.QUERY else [text]
    found = translate_texts(texts, params, limits, text_kind)
    result = "\n".join(t.text for t in found).encode()
    if isinstance(out, Path):
        out.write_bytes(result)
    else:
        out.write(result)
    return found


def _translate_table(
    file: Path,
    out: Path,
    params: TranslationParameters,
    limits: ResourceLimits,
    column: str,
    kind: TextKind,
) -> list[Translation]:
    rows = parquet.read_unless_too_many_rows(file)
    if isinstance(rows.schema.get(column), pl.Categorical | pl.Enum):
        rows = rows.with_columns(pl.col(column).cast(pl.String))
    if rows.schema.get(column) != pl.String:
        raise UsageError(
            f"--column: expected a text column of {file.name}, found none named {column!r}"
        )
    for name in (f"{column}_en", f"{column}_flags"):
        if name in rows.columns:
            raise UsageError(
                f"{file.name}: expected no column {name!r}, because results are written to a new "
                "column of this name; rename the existing column"
            )
    found = translate_texts(rows[column].fill_null("").to_list(), params, limits, kind)
    texts = [
        None if text is None else translation.text
        for text, translation in zip(rows[column], found, strict=True)
    ]
    flags = [sorted({f for s in t.sentences for f in s.flags}) for t in found]
    rows.with_columns(
        pl.Series(f"{column}_en", texts, dtype=pl.String),
        pl.Series(f"{column}_flags", flags, dtype=pl.List(pl.String)),
    ).write_parquet(out)
    return found


def check_model(params: TranslationParameters, limits: ResourceLimits) -> dict[str, Any]:
    """Load a translation model, and return its properties and three sample translations.

    Args:
        params: Parameters of the `[translate]` section; must name a model.
        limits: Number of threads, and the folder for temporary files.

    Raises:
        UsageError: no model is named, or its folder does not exist.
        FormatError: the folder is not a translation model.
    """
    engine = _load_ctranslate2_engine(params, limits)
    model = engine.model
    examples = translate_texts(list(EXAMPLES), params, limits)
    return {
        "folder": str(model.folder),
        "sha256": model.digest,
        "megabytes": round((model.folder / "model.bin").stat().st_size / 1e6, 1),
        "vocabulary": len(model.vocabulary),
        "sentencepiece": "shared" if model.spm[0] == model.spm[1] else "source and target",
        "ends_sources": "caller adds </s>" if model.needs_eos else "engine adds </s>",
        "compute_type": engine.translator.compute_type,
        "device": engine.translator.device,
        "batch_invariant": "yes" if engine.invariant else "no",
        "examples": {s: t.text for s, t in zip(EXAMPLES, examples, strict=True)},
    }
