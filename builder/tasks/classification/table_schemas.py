"""Table schemas of a classification collection.

Posts and labels are separate tables, so that a test set can be distributed without its labels.
The number that identifies an author is valid within one version only.
"""

import dataframely as dy

from schemas import TableSchema

POLARITIES = ("positive", "negative")
LABEL_SOURCES = ("distant", "human")


class Posts(TableSchema):
    """Posts of one split, without their labels."""

    id = dy.String(primary_key=True, min_length=1, description="Id of the post in the input")
    time = dy.Int64(description="Time of the post in Unix seconds")
    author = dy.UInt32(description="Number that identifies the author within this version")
    text = dy.String(min_length=1, description="Text, without markers if `strip_markers` is set")


class Labels(TableSchema):
    """Labels of the posts of one split."""

    id = dy.String(primary_key=True, min_length=1, description="Id of the post")
    label = dy.String(regex=rf"^({'|'.join(POLARITIES)})$", description="Final label")
    source = dy.String(
        regex=rf"^({'|'.join(LABEL_SOURCES)})$", description="Source of the final label"
    )
    distant = dy.String(
        regex=rf"^({'|'.join(POLARITIES)})$", description="Distant label, derived from markers"
    )
