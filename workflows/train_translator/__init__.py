"""Train the embedded French-English model: data, vocabulary, training, conversion, model card.

In: the sentence pairs listed in `sources.toml`. Out: a CTranslate2 model of at most 20 MB and its
card. See README.md in this folder.
"""
