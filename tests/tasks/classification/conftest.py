"""A simulated world of posts and its collection; built once a session."""

import pytest

from builder.tasks.classification import build_classification
from tests.tasks.classification.helpers import WORLD, define
from tests.tasks.classification.posts import simulate_posts


@pytest.fixture(scope="session")
def posts():
    """The posts of the world with their true sentiment."""
    return simulate_posts(WORLD)


@pytest.fixture(scope="session")
def collection(posts, tmp_path_factory):
    """Its collection. Tests that change it work on a copy."""
    folder = tmp_path_factory.mktemp("classification")
    posts.drop("truth").write_ndjson(folder / "posts.jsonl")
    return build_classification(define(folder), folder / "out")
