"""The French-English translation model that is included in this package."""

from pathlib import Path

from builder.errors import DataError

EMBEDDED = "embedded"
"""Value of `model` in section `[translate]` that selects the included model."""


def is_embedded(model: Path) -> bool:
    """Whether a `translate.model` setting selects the model included in this package."""
    return str(model) == EMBEDDED


def embedded_model() -> Path:
    """Return the folder of the included French-English model (CTranslate2 format).

    Raises:
        DataError: the program was installed without it.
    """
    folder = Path(__file__).with_name("fr-en")
    if not (folder / "model.bin").is_file():
        raise DataError(
            f"{folder}: no embedded model in this installation; give translate.model a folder"
        )
    return folder
