"""Simulated posts with known sentiment, for classification collections.

Authors write over nine years. What a post says is drawn from words of its true sentiment, whose
use drifts from year to year, and from neutral words. Many posts carry a marker, which now and then
says the opposite; some carry both, some repeat or lightly edit an earlier post.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

FIRST_DAY = 1_356_998_400  # 2013-01-01
YEAR = 365 * 86_400
POSITIVE_MARKERS = np.array(["😀", "😍", ":)", ":))", "<3", "xD", "👍🏽"])
NEGATIVE_MARKERS = np.array(["😞", "😡", ":(", ":((", ":/", "</3", "👎🏾"])


@dataclass(frozen=True)
class PostWorld:
    """The world that posts come from.

    Args:
        posts: How many.
        authors: Who write them; activity is skewed.
        years: Length of the world.
        marked: Share of posts with a marker.
        wrong: Share of markers that say the opposite of the post.
        both: Share of marked posts with a second, opposite marker.
        repeated: Share of posts that repeat the text of an earlier one.
        edited: Share of posts that repeat an earlier one but for one word at the end.
        seed: Key of the world.
    """

    posts: int = 5000
    authors: int = 1500
    years: int = 9
    marked: float = 0.6
    wrong: float = 0.08
    both: float = 0.03
    repeated: float = 0.02
    edited: float = 0.02
    seed: int = 0


def simulate_posts(world: PostWorld) -> pl.DataFrame:
    """Posts: id, time (unix s), author, text; and their truth: positive or negative."""
    rng = np.random.default_rng(world.seed)
    n = world.posts
    times = np.sort(rng.integers(0, world.years * YEAR, n)) + FIRST_DAY
    authors = (world.authors * rng.random(n) ** 1.5).astype(int)
    truth = rng.random(n) < 0.55
    texts = _texts(rng, times, truth)
    _copy(rng, texts, truth, world)
    marked = _with_markers(rng, texts, truth, world)
    return pl.DataFrame(
        {
            "id": [f"p{number:08d}" for number in range(n)],
            "time": times,
            "author": [f"user{number}" for number in authors],
            "text": marked,
            "truth": np.where(truth, "positive", "negative"),
        }
    )


def _texts(rng, times, truth):
    """Twelve words: five of the sentiment, drawn from a window that moves with the years."""
    n = len(times)
    year = (times - FIRST_DAY) // YEAR
    window = 40 * year[:, None] + (400 * rng.random((n, 5)) ** 2).astype(int)
    side = np.where(truth, "good", "bad")[:, None]
    noise = rng.random((n, 5)) < 0.25
    side = np.where(noise, np.where(truth, "bad", "good")[:, None], side)
    feeling = np.char.add(side, spelt(window))
    neutral = spelt((60_000 * rng.random((n, 7)) ** 3).astype(int))
    words = np.concatenate([feeling, neutral], axis=1)
    order = rng.permuted(np.tile(np.arange(12), (n, 1)), axis=1)
    return [" ".join(row) for row in np.take_along_axis(words, order, axis=1).tolist()]


def spelt(numbers):
    """A word of four letters for each number below 26^4."""
    digits = numbers[..., None] // np.array([17_576, 676, 26, 1]) % 26
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))[digits]
    return letters.view("<U4").reshape(numbers.shape)


def _copy(rng, texts, truth, world):
    kinds = rng.random(len(texts))
    for i in np.flatnonzero(kinds < world.repeated + world.edited):
        source = int(rng.integers(0, i + 1))
        texts[i] = texts[source]
        truth[i] = truth[source]
        if kinds[i] >= world.repeated:
            texts[i] = texts[i].rsplit(" ", 1)[0] + f" other{i}"


def _with_markers(rng, texts, truth, world):
    n = len(texts)
    says = truth ^ (rng.random(n) < world.wrong)
    good, bad = (rng.choice(markers, n) for markers in (POSITIVE_MARKERS, NEGATIVE_MARKERS))
    first, second = np.where(says, good, bad), np.where(says, bad, good)
    marked, both = rng.random(n) < world.marked, rng.random(n) < world.both
    return [
        f"{text} {one} {other}" if m and b else f"{text} {one}" if m else text
        for text, one, other, m, b in zip(texts, first, second, marked, both, strict=True)
    ]
