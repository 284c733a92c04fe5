"""Converts (if necessary) and checks a user's translation model: `longeval translate model add`.

Input: a CTranslate2 folder, an OPUS-MT folder in Marian format (with `decoder.yml`), or an OPUS-MT
or NLLB folder in Transformers format (with `model_type` in `config.json`). Output: the properties
of the model, its license, and the `[translate]` section that selects it. Only CTranslate2 models
can be run; models in other formats are first converted into a new folder.
"""

import json
import re
import shutil
from collections.abc import Collection
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

from builder.errors import FormatError, UsageError
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.translation.model import PAIR, SHARED, WEIGHTS, read_model
from builder.translation.standalone import check_model

MARIAN = "decoder.yml"
PREFIXES: tuple[tuple[str, str | None], ...] = (
    ("fra_Latn", "eng_Latn"),
    ("__fr__", "__en__"),
    (">>eng<<", None),
)
"""Source and target prefixes of NLLB, M2M-100 and OPUS-MT models; None: no target prefix."""
LICENSES = ("LICENSE*", "LICENCE*", "COPYING*")
_FRONT_MATTER = re.compile(r"^license(?:_name)?:\s*(\S+)", re.MULTILINE)


class ModelFormat(StrEnum):
    """File format of a translation model."""

    CTRANSLATE2 = "CTranslate2"
    OPUS_MT = "OPUS-MT (Marian)"
    MARIAN = "OPUS-MT (Transformers)"
    NLLB = "NLLB or M2M-100 (Transformers)"


MODEL_TYPES = {"marian": ModelFormat.MARIAN, "m2m_100": ModelFormat.NLLB}
"""Model format for each `model_type` of a Transformers model."""


def add_model(
    path: Path, limits: ResourceLimits, *, out: Path | None = None, compute_type: str = "int8"
) -> dict[str, Any]:
    """Convert a translation model to CTranslate2 if necessary, and check that it can be used.

    Args:
        path: A model folder, or the `model.bin` in such a folder.
        limits: Number of threads, and the folder for temporary files.
        out: New folder for a converted model.
        compute_type: CTranslate2 compute type to use for the check.

    Returns:
        The properties that `check_model` returns, and `kind` (model format), `licence`, and
        `definition` (a `[translate]` section in TOML).

    Raises:
        UsageError: the folder does not exist, or the model must be converted but `out` is None or
            the converter is not installed.
        FormatError: the format is unknown, or the model cannot be converted or loaded.
    """
    folder = path.parent if path.name == WEIGHTS else path
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; expected the folder of a translation model")
    model_format = detect_format(folder)
    if model_format is not ModelFormat.CTRANSLATE2:
        folder = convert_model(folder, model_format, out)
    prefixes = language_prefixes(read_model(folder).vocabulary)
    params = TranslationParameters.model_validate(
        {"model": folder, "compute_type": compute_type, **prefixes}
    )
    return {
        "kind": str(model_format),
        **check_model(params, limits),
        "licence": find_license(folder),
        "definition": render_translate_section(folder, prefixes),
    }


def detect_format(folder: Path) -> ModelFormat:
    """Identify the format of a model folder.

    Raises:
        FormatError: the format is unknown.
    """
    if (folder / WEIGHTS).is_file():
        return ModelFormat.CTRANSLATE2
    if (folder / MARIAN).is_file():
        return ModelFormat.OPUS_MT
    try:
        model_type = json.loads((folder / "config.json").read_text("utf-8"))["model_type"]
        return MODEL_TYPES[model_type]
    except (OSError, ValueError, KeyError, TypeError):
        raise FormatError(
            f"expected {WEIGHTS} (CTranslate2), {MARIAN} (OPUS-MT) or a config.json with "
            f"model_type {' or '.join(MODEL_TYPES)} (Transformers), found none of them",
            folder,
        ) from None


def convert_model(folder: Path, model_format: ModelFormat, out: Path | None) -> Path:
    """Convert a model to CTranslate2 format with int8 weights; return the new folder `out`.

    The SentencePiece models, license and README.md are copied to the new folder.

    Raises:
        UsageError: `out` is None or exists, or Transformers is not installed.
        FormatError: CTranslate2 cannot convert the model.
    """
    if out is None:
        raise UsageError(
            f"{folder}: an {model_format} model must be converted to CTranslate2; use --out "
            "NEW_FOLDER"
        )
    if out.exists():
        raise UsageError(f"--out: {out} already exists; use a new folder")
    try:
        _create_converter(folder, model_format).convert(str(out), quantization="int8")
    except ImportError as error:
        raise UsageError(
            f"{folder}: converting an {model_format} model requires Transformers; run "
            f"pip install transformers[torch] ({error})"
        ) from None
    except Exception as error:
        shutil.rmtree(out, ignore_errors=True)
        raise FormatError(f"CTranslate2 cannot convert this model: {error}", folder) from error
    for path in _files_to_copy(folder):
        shutil.copyfile(path, out / path.name)
    return out


def _create_converter(folder: Path, model_format: ModelFormat) -> Any:
    from ctranslate2 import converters

    if model_format is ModelFormat.OPUS_MT:
        return converters.OpusMTConverter(str(folder))
    import_module("transformers")  # the converter reports its absence late and less clearly
    return converters.TransformersConverter(str(folder))


def _files_to_copy(folder: Path) -> list[Path]:
    """Return the files to copy to a converted model: SentencePiece models, license, README.md."""
    names = [*PAIR, *SHARED, "README.md"]
    found = [folder / name for name in names if (folder / name).is_file()]
    return found + _license_files(folder)


def _license_files(folder: Path) -> list[Path]:
    return sorted(path for pattern in LICENSES for path in folder.glob(pattern))


def find_license(folder: Path) -> str:
    """Return the names of a model's license files, or else the license stated in its README.md.

    If there is neither, return a text that says that there is no license file.
    """
    files = _license_files(folder)
    if files:
        return ", ".join(path.name for path in files)
    card = folder / "README.md"
    found = _FRONT_MATTER.search(card.read_text("utf-8", "replace")) if card.is_file() else None
    return f"{found[1]} (README.md)" if found else "no licence file"


def language_prefixes(vocabulary: Collection[str]) -> dict[str, str]:
    """Return the prefix parameters with which a multilingual model translates French to English.

    Returns:
        `source_prefix` and, if the model needs it, `target_prefix`; empty for other models.
    """
    for source, target in PREFIXES:
        if source in vocabulary and (target is None or target in vocabulary):
            named = {"source_prefix": source, "target_prefix": target}
            return {key: piece for key, piece in named.items() if piece is not None}
    return {}


def render_translate_section(folder: Path, prefixes: dict[str, str]) -> str:
    """Return the TOML of a `[translate]` section that selects a model and its language prefixes."""
    values = {"model": str(folder.resolve()), **prefixes}
    return "\n".join(["[translate]", *(f"{k} = {json.dumps(v)}" for k, v in values.items())])
