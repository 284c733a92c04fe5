"""Text -> index terms, for the lexical baseline, in French, English and what Snowball stems.

In: a column of texts. Out: index terms per text: lower-cased words without elisions ("l'eau" is
"eau", "qu'il" is "il"), without stop words, stemmed (Snowball) and without accents, so that "sante"
finds "santé", as people type it. Every distinct word is analysed once.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.evaluation.baselines.stopwords import STOP_WORDS
from builder.extras import import_optional
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
"""Term id of a word that is no index term."""


class Analyzer:
    """Turns texts into ids of index terms, and keeps the vocabulary.

    Args:
        language: Its code. Words of a language without a stemmer are terms as they stand; stop
            words are known for `fr` and `en`.

    Raises:
        MissingExtraError: PyStemmer is not installed.
    """

    def __init__(self, language: str) -> None:
        self.vocabulary: dict[str, int] = {}
        self._elision = _ELISIONS.get(language)
        self._stop_words = {strip_accents(word) for word in STOP_WORDS.get(language, ())}
        self._stem = _stemmer(_STEMMERS[language]) if language in _STEMMERS else str
        self._words: dict[str, int] = {}

    def words(self, texts: pl.Series) -> pl.Series:
        """Lists of lower-cased words, elisions removed; a null text is an empty list."""
        plain = texts.cast(pl.String).fill_null("").str.normalize("NFKC").str.to_lowercase()
        plain = plain.str.replace_many(dict.fromkeys(_APOSTROPHES, "'"))
        plain = plain.str.replace_many(_LIGATURES)
        if self._elision is not None:
            plain = plain.str.replace_all(self._elision, " ")
        return plain.str.extract_all(r"\w+")

    def term_ids(self, texts: pl.Series, *, grow: bool) -> list[npt.NDArray[np.int32]]:
        """Ids of the index terms of each text, in their order, repeated as often as they occur.

        Args:
            texts: The texts.
            grow: Whether unknown terms enter the vocabulary (documents) or are left out (queries).
        """
        words = self.words(texts)
        flat = words.explode(empty_as_null=False, keep_nulls=False)
        distinct = flat.unique(maintain_order=True).to_list()
        ids = pl.Series([self._term_id(word, grow) for word in distinct], dtype=pl.Int32)
        terms = flat.replace_strict(distinct, ids, return_dtype=pl.Int32).to_numpy()
        texts_of = np.repeat(np.arange(len(texts)), words.list.len().to_numpy())
        kept = terms != STOPPED
        ends = np.cumsum(np.bincount(texts_of[kept], minlength=len(texts)))
        return np.split(terms[kept].astype(np.int32), ends)[: len(texts)]

    def _term_id(self, word: str, grow: bool) -> int:
        if word in self._words:
            return self._words[word]
        folded = strip_accents(word)
        if folded in self._stop_words:
            return self._words.setdefault(word, STOPPED)
        term = strip_accents(self._stem(word))
        if term not in self.vocabulary:
            if not grow:
                return STOPPED
            self.vocabulary[term] = len(self.vocabulary)
        return self._words.setdefault(word, self.vocabulary[term])


def _stemmer(name: str) -> Callable[[str], str]:
    stemmer = import_optional("Stemmer", "the BM25 baseline", "baseline").Stemmer(name)
    stem: Callable[[str], str] = stemmer.stemWord
    return stem
