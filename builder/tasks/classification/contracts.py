"""The tables of a classification collection.

Posts and labels lie apart, so that a test set can be handed out without its labels. Authors are
numbers that mean nothing outside a version.
"""

import dataframely as dy

from schemas import Contract

POLARITIES = ("positive", "negative")
LABEL_SOURCES = ("distant", "human")


class Posts(Contract):
    """A post of a split."""

    id = dy.String(primary_key=True, min_length=1, description="Id of the post, as handed in")
    time = dy.Int64(description="Unix seconds")
    author = dy.UInt32(description="Number of its author within this version")
    text = dy.String(min_length=1, description="Text, without markers where they are stripped")


class Labels(Contract):
    """The label of a post."""

    id = dy.String(primary_key=True, min_length=1, description="Id of the post")
    label = dy.String(regex=rf"^({'|'.join(POLARITIES)})$", description="The label that counts")
    source = dy.String(regex=rf"^({'|'.join(LABEL_SOURCES)})$", description="Where it comes from")
    distant = dy.String(regex=rf"^({'|'.join(POLARITIES)})$", description="What its markers say")
