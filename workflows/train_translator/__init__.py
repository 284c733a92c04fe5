"""How the embedded French-English model is made: data, vocabulary, training, conversion, card.

In: the sentence pairs of `sources.toml`, and pairs that the project's own grammar makes. Out: a
CTranslate2 model of at most 20 MB and its card. See README.md beside this file.
"""
