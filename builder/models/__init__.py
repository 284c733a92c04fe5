"""French-English translation model that is bundled with this package."""

from pathlib import Path

from builder.errors import DataError

BUNDLED = "embedded"
"""Value of `translate.model` that selects the bundled model."""


def is_bundled(model: Path) -> bool:
    """Return whether a value of `translate.model` selects the bundled model."""
    return str(model) == BUNDLED


def bundled_model_folder() -> Path:
    """Return the folder of the bundled French-English model (CTranslate2 format).

    Raises:
        DataError: The model is not part of this installation.
    """
    folder = Path(__file__).with_name("fr-en")
    if not (folder / "model.bin").is_file():
        raise DataError(
            f"{folder}: expected the bundled translation model, found no model.bin; set "
            "translate.model to the folder of a model"
        )
    return folder
