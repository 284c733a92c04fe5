"""Light stemming of folded French (and English) words: plurals only.

In: folded text (see `builder.text.keys.fold`). Out: the same words, each brought to its singular by
a few endings. It is meant for equality of stems, not as spelling: a query and a topic are stemmed
alike. Lighter than Savoy (1999): no gender, no derivation, so that no topic swallows another.
"""

import polars as pl

INVARIABLE = (
    "bois|bras|corps|cours|dans|dessous|dessus|dos|fils|fois|gros|jamais|lors|mars|mois|moins|ours|"
    "palais|paris|pays|plus|poids|propos|puis|sans|sens|sous|souris|temps|tous|trois|vers"
)
"""Words whose final s is no plural."""

PLURALS: tuple[tuple[str, str], ...] = (
    (rf"\b({INVARIABLE})\b", "${1}_"),
    (r"\b(b|cor|em|soupir|trav|vant|vitr)aux\b", "${1}ail"),
    (r"([ey])aux\b", "${1}au"),
    (r"(\p{L}{2})aux\b", "${1}al"),
    (r"(\p{L}[eo]u)x\b", "${1}"),
    (r"(\p{L}[\p{L}\p{N}]+[^\P{L}sx])s\b", "${1}"),
    (r"_", ""),
)
"""Endings (Rust regular expressions) and what replaces them, in order; `_` shields a word."""


def stem(folded: pl.Expr) -> pl.Expr:
    """Stem every word of a folded text column. Idempotent.

    `eaux` -> `eau`, `journaux` -> `journal`, `travaux` -> `travail`, `cheveux` -> `cheveu`,
    `lois` -> `loi`; words of three letters or fewer and `mois`, `prix`, `stress` stay.
    """
    for ending, singular in PLURALS:
        folded = folded.str.replace_all(ending, singular)
    return folded
