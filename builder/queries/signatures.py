"""The signature of a query: what is left when order, plurals and function words are taken away.

In: folded query texts. Out: their signatures, and ids of the sets of queries that share one.
Equal signatures are an equivalence that depends on the text alone: a set never changes its id,
whatever other queries there are, and that id can decide the side of the split.
"""

import polars as pl

from builder.queries.stemming import stem
from builder.text.keys import key64

PHRASES: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:qu est ce qu[ei]?|qu est ce|est ce qu[ei]?|c est quoi|quel(?:le)?s? (?:est|sont)) ",
        "",
    ),
    (r"\b[dljmst] ([aeiouyh])", "${1}"),
    (r"\b(?:qu|a) (\S)", "${1}"),
)
"""Question phrases and elisions, dropped only where something follows: the d of `vitamine d` and
the a of `hepatite a` stay."""

_WORDS = (
    "au|aux|ce|ces|cet|cette|dans|de|des|du|en|et|la|le|les|ma|mes|mon|par|pour|que|quel|quelle|"
    "quelles|quels|sa|ses|son|sur|ta|tes|ton|un|une"
)
FUNCTION_WORDS = _WORDS.split("|")
"""Folded French words that rarely tell queries apart. Negations, `ou`, `sans`, `avec`, `contre`,
`avant`, `apres`, and `est` (east) are content."""


def signature(folded: pl.Expr) -> pl.Expr:
    """The sorted stems of the content words of folded texts; of all words where none is content.

    `l impot sur le revenu` and `revenus impot` share the signature `impot revenu`.
    """
    for phrase, rest in PHRASES:
        folded = folded.str.replace_all(phrase, rest)
    words = folded.str.split(" ")
    content = words.list.set_difference(pl.lit(FUNCTION_WORDS, dtype=pl.List(pl.String)))
    kept = pl.when(content.list.len() > 0).then(content).otherwise(words.list.unique())
    stems = stem(kept.list.join(" ")).str.split(" ")
    return stems.list.unique().list.sort().list.join(" ")


def set_id(name: pl.Expr) -> pl.Expr:
    """Printable id of a variant set: `v` + 16 hex digits of md5 of its signature or given name."""
    return name.map_batches(_ids, return_dtype=pl.String, is_elementwise=True)


def _ids(names: pl.Series) -> pl.Series:
    ids = [None if name is None else f"v{key64(name):016x}" for name in names]
    return pl.Series(names.name, ids, dtype=pl.String)
