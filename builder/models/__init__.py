"""The translation model that is shipped with the program."""

from pathlib import Path

from builder.errors import DataError

EMBEDDED = "embedded"
"""What `[translate] model` says to mean this model."""


def is_embedded(model: Path) -> bool:
    """Whether a definition's model is the one that is shipped."""
    return str(model) == EMBEDDED


def embedded_model() -> Path:
    """The folder of the French-English model, a CTranslate2 model with its card.

    Raises:
        DataError: the program was installed without it.
    """
    folder = Path(__file__).with_name("fr-en")
    if not (folder / "model.bin").is_file():
        raise DataError(
            f"{folder}: no embedded model in this installation; give translate.model a folder"
        )
    return folder
