"""Computes query signatures: the stems of the content words of a query, sorted.

Queries with equal signatures form a variant set. The id of the set is a hash of the signature and
does not depend on other queries, so that it can determine whether the set is held out for testing.
"""

import polars as pl

from builder.queries.stemming import stem_expr
from builder.text.keys import fold, key64

ELISIONS: tuple[tuple[str, str], ...] = (
    (r"(?i)\b[dljmst]['’‘‛`´′＇ʹʻʼ] ?([aeiouyhàâéèêëîïôöùûüœæ])", "${1}"),
    (r"(?i)\bà[^\pL\pN]+([\pL\pN])", "${1}"),
)
"""Patterns of elided words and of `à` before another word in texts as typed, with their
replacements. Without apostrophe or accent, these letters may be names: `vitamine d aliments`."""

PHRASES: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:qu est ce qu[ei]?|qu est ce|est ce qu[ei]?|c est quoi|quel(?:le)?s? (?:est|sont)) ",
        "",
    ),
    (r"(?:^|\b(?:de|a) )l ([aeiouyh])", "${1}"),
    (r"\ba la (\S)", "${1}"),
    (r"\bqu (\S)", "${1}"),
)
"""Patterns of question phrases and of unambiguous elisions in folded texts, with their
replacements."""

_WORDS = (
    "au|aux|ce|ces|cet|cette|dans|de|des|du|en|et|la|le|les|ma|mes|mon|par|pour|que|quel|quelle|"
    "quelles|quels|sa|ses|son|sur|ta|tes|ton|un|une"
)
FUNCTION_WORDS = _WORDS.split("|")
"""Folded French function words, which rarely distinguish queries. Negations, `ou`, `sans`, `avec`,
`contre`, `avant`, `apres` and `est` (east) are treated as content words."""


def signature_expr(text: pl.Expr, has_french: bool = True) -> pl.Expr:
    """Return an expression for query signatures: the sorted stems of the content words.

    `l'impôt sur le revenu` and `Revenus impots` have the signature `impot revenu`. If a text has no
    content word, the stems of all its words are used.

    Args:
        text: Texts with apostrophes and accents, by which elided words are recognized.
        has_french: Whether texts may be French. If not, all words are content words.
    """
    if not has_french:
        return _sorted_stems_expr(fold(text).str.split(" "))
    text = text.str.normalize("NFC")
    for elision, rest in ELISIONS:
        text = text.str.replace_all(elision, rest)
    folded = fold(text)
    for phrase, rest in PHRASES:
        folded = folded.str.replace_all(phrase, rest)
    words = folded.str.split(" ")
    content = words.list.set_difference(pl.lit(FUNCTION_WORDS, dtype=pl.List(pl.String)))
    kept = pl.when(content.list.len() > 0).then(content).otherwise(words.list.unique())
    return _sorted_stems_expr(kept)


def _sorted_stems_expr(words: pl.Expr) -> pl.Expr:
    """Return an expression that joins the sorted, distinct stems of lists of words."""
    stems = stem_expr(words.list.join(" ")).str.split(" ")
    return stems.list.unique().list.sort().list.join(" ")


def variant_set_id_expr(name: pl.Expr) -> pl.Expr:
    """Return an expression for variant set ids: `v` and 16 hex digits of the MD5 of each name."""
    return name.map_batches(_variant_set_ids, return_dtype=pl.String, is_elementwise=True)


def _variant_set_ids(names: pl.Series) -> pl.Series:
    """Return the variant set id of each name; null if the name is null."""
    ids = [None if name is None else f"v{key64(name):016x}" for name in names]
    return pl.Series(names.name, ids, dtype=pl.String)
