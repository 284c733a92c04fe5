"""Translation of documents and queries to English with CTranslate2, sentence by sentence.

Splits texts into sentences, translates them, flags poor translations, and caches all translations
in a translation memory.
"""

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
