"""Text analysis of the BM25 baseline: tokenization, stop word removal and stemming.

Words are lowercased. Elisions ("l'eau" becomes "eau"), stop words and accents ("santé" becomes
"sante") are removed. Words are stemmed if the language has a Snowball stemmer. Each distinct word
is analyzed only once.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.evaluation.baselines.stopwords import STOP_WORDS
from builder.extras import import_optional_module
from builder.text.keys import strip_accents

_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
_ELISIONS = {
    "fr": r"\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|presqu)'",
    "en": r"'(?:s|re|ve|ll|d|m)\b",
    "it": r"\b(?:[cdlmnstv]|un|all|dall|dell|nell|sull|coll|quell|quest|sant|tutt)'",
}
_APOSTROPHES = ["\N{RIGHT SINGLE QUOTATION MARK}", "\N{MODIFIER LETTER APOSTROPHE}", "`", "´"]
_LIGATURES = {"œ": "oe", "æ": "ae"}

STOPPED = -1
"""Term id of stop words and unknown words."""


class Analyzer:
    """Text analyzer that converts texts to ids of index terms.

    Args:
        language: Language code, such as `fr`. Words are not stemmed if there is no stemmer for the
            language; stop words are only removed for `fr` and `en`.

    Raises:
        MissingExtraError: PyStemmer is not installed.
    """

    def __init__(self, language: str) -> None:
        self.vocabulary: dict[str, int] = {}
        self._elision = _ELISIONS.get(language)
        self._stop_words = {strip_accents(word) for word in STOP_WORDS.get(language, ())}
        self._stem = _create_stemmer(_STEMMERS[language]) if language in _STEMMERS else str
        self._words: dict[str, int] = {}

    def tokenize(self, texts: pl.Series) -> pl.Series:
        """Split each text into lowercased words without elisions; a null text has no words."""
        plain = texts.cast(pl.String).fill_null("")
        # NFKC decomposes an acute accent that is used as an apostrophe.
        plain = plain.str.replace_many(dict.fromkeys(_APOSTROPHES, "'"))
        plain = plain.str.normalize("NFKC").str.to_lowercase().str.replace_many(_LIGATURES)
        if self._elision is not None:
            plain = plain.str.replace_all(self._elision, " ")
        return plain.str.extract_all(r"\w+")

    def term_ids(self, texts: pl.Series, *, add_terms: bool) -> list[npt.NDArray[np.int32]]:
        """Convert each text to the ids of its index terms, in text order and with repetitions.

        Args:
            texts: Texts to analyze.
            add_terms: Whether to add unknown terms to the vocabulary (for documents), or to skip
                them (for queries).
        """
        words = self.tokenize(texts)
        flat = words.explode(empty_as_null=False, keep_nulls=False)
        distinct = flat.unique(maintain_order=True).to_list()
        ids = pl.Series([self._term_id(word, add_terms) for word in distinct], dtype=pl.Int32)
        terms = flat.replace_strict(distinct, ids, return_dtype=pl.Int32).to_numpy()
        texts_of = np.repeat(np.arange(len(texts)), words.list.len().to_numpy())
        kept = terms != STOPPED
        ends = np.cumsum(np.bincount(texts_of[kept], minlength=len(texts)))
        return np.split(terms[kept].astype(np.int32), ends)[: len(texts)]

    def _term_id(self, word: str, add_terms: bool) -> int:
        if word in self._words:
            return self._words[word]
        folded = strip_accents(word)
        if folded in self._stop_words:
            return self._words.setdefault(word, STOPPED)
        term = strip_accents(self._stem(word))
        if term not in self.vocabulary:
            if not add_terms:
                return STOPPED
            self.vocabulary[term] = len(self.vocabulary)
        return self._words.setdefault(word, self.vocabulary[term])


def _create_stemmer(algorithm: str) -> Callable[[str], str]:
    stemmer = import_optional_module("Stemmer", "the BM25 baseline", "baseline").Stemmer(algorithm)
    stem: Callable[[str], str] = stemmer.stemWord
    return stem
