"""Translation: sentences, and a CTranslate2 engine with SentencePiece."""

from builder.translation.stage import translate

__all__ = ["translate"]
