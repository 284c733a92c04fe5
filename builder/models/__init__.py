"""The French-English translation model that is bundled with this package."""

from pathlib import Path

from builder.errors import DataError

BUNDLED = "embedded"
"""Value of `translate.model` that selects the bundled model."""


def is_bundled(model: Path) -> bool:
    """Whether a value of `translate.model` selects the bundled model."""
    return str(model) == BUNDLED


def bundled_model() -> Path:
    """Return the folder of the bundled French-English model (CTranslate2 format).

    Raises:
        DataError: the program was installed without it.
    """
    folder = Path(__file__).with_name("fr-en")
    if not (folder / "model.bin").is_file():
        raise DataError(
            f"{folder}: no bundled model in this installation; give translate.model a folder"
        )
    return folder
