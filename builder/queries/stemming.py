"""Light stemmer for folded French and English text, which removes plural endings only.

Stems are meant to be compared with each other and need not be correct words. The stemmer is
lighter than Savoy (1999): it ignores gender and derivation, to avoid conflating different topics.
"""

import polars as pl

INVARIABLE = (
    "bois|bras|corps|cours|dans|dessous|dessus|dos|fils|fois|gros|jamais|lors|mars|mois|moins|news|"
    "ours|palais|paris|pays|plus|poids|propos|puis|sans|sens|sous|souris|temps|tous|trois|vers"
)
"""Words whose final s is not a plural ending."""

PLURALS: tuple[tuple[str, str], ...] = (
    (rf"\b({INVARIABLE})\b", "${1}_"),
    (r"\b(b|cor|em|soupir|trav|vant|vitr)aux\b", "${1}ail"),
    (r"([ey])aux\b", "${1}au"),
    (r"(\p{L}{2})aux\b", "${1}al"),
    (r"(\p{L}[eo]u)x\b", "${1}"),
    (r"(\p{L}[\p{L}\p{N}]+[^\P{L}sx])s\b", "${1}"),
    (r"_", ""),
)
"""Plural endings (Rust regular expressions) with their replacements, applied in order.

The first pattern appends `_` to invariable words, so that later patterns skip them."""


def stem_expr(folded: pl.Expr) -> pl.Expr:
    """Return an expression that removes plural endings from the words of folded texts.

    `eaux` -> `eau`, `journaux` -> `journal`, `travaux` -> `travail`, `cheveux` -> `cheveu`,
    `lois` -> `loi`. Words of at most three letters, and words such as `mois`, `prix` and `stress`,
    are unchanged.
    """
    for ending, singular in PLURALS:
        folded = folded.str.replace_all(ending, singular)
    return folded
