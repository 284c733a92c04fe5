"""Translation with CTranslate2: sentence splitting, decoding, quality flags and memory."""

from builder.translation.adding import add_model
from builder.translation.filter import translate_stream
from builder.translation.stage import translate
from builder.translation.standalone import check_model, translate_file, translate_texts

__all__ = [
    "add_model",
    "check_model",
    "translate",
    "translate_file",
    "translate_stream",
    "translate_texts",
]
