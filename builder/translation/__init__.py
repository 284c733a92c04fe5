"""Translation: sentences, a CTranslate2 engine with SentencePiece, a memory, flags and policies."""

from builder.translation.stage import translate
from builder.translation.standalone import check_model, translate_file, translate_texts

__all__ = ["check_model", "translate", "translate_file", "translate_texts"]
