"""What the terms of the explorer mean: its page of terms, and the same page of the manual."""

TERMS: dict[str, str] = {
    "aligned id": "An id that names the same query or page in every snapshot. Built collections "
    "use no other; an imported release keeps its own ids in its files, and the explorer shows the "
    "aligned ones.",
    "attribution": "How much of the change of a system's score comes from changed documents, "
    "changed queries and changed judgements; the rest is the system itself and the statistics of "
    "its index.",
    "click": "A result that a user opened. A page clicked twice in one impression counts once.",
    "core query": "A query that every snapshot lists.",
    "credible interval": "The range in which the score behind a grade lies with 95 % probability, "
    "given the clicks. A wide interval means few examinations.",
    "degree of change": "How far the words of an updated page changed: cosmetic (nearly all "
    "words stayed), edited, rewritten (few stayed).",
    "Dice": "Overlap of the word sets of two versions: 1 for the same words, 0 for no common word.",
    "examination": "An impression in which the user looked at the page, by the click model: "
    "it was shown at or above the last click.",
    "grade": "0 not relevant, 1 relevant, 2 highly relevant.",
    "grade flip": "A query and a page that two neighbouring snapshots judge with distinct grades.",
    "held out": "A query of a training snapshot that is kept for testing.",
    "impression": "A result page shown once. Impressions of a query count how often it was asked; "
    "impressions of a judged pair count how often the page was among its results.",
    "judged": "A query with at least one grade; a query and a page with a grade.",
    "listed": "A query in the query file of a snapshot. Releases may judge queries that they do "
    "not list.",
    "loose match": "Two addresses that differ only by http or https, www, or a slash at the end.",
    "moved": "A page that disappeared, and whose text appeared at another address.",
    "nDCG@10": "How well the first ten results are ordered by grade: 1 is the best order, 0 no "
    "relevant page.",
    "qrel": "A judgement: a query, a page, a grade, and the evidence for it.",
    "reject": "A row of the raw data, or of a table, that a stage left out, with its reason.",
    "sampled": "The page is in the sample of the crawl that every snapshot takes by the same key, "
    "whatever users saw.",
    "score of a judgement": "The probability, estimated from clicks, that is cut into grades.",
    "seen": "A query of a later snapshot that was in the training data, by itself or as a variant.",
    "shown": "The page was in a result list of a query that the snapshot keeps.",
    "snapshot": "The collection as it was in one period, such as 2022-06.",
    "source of a grade": "click: from clicks; manual: from an assessor; release: from an imported "
    "release that does not say.",
    "split": "train: given with judgements for training; heldout: of the same snapshot, kept for "
    "testing; test: of a later snapshot; seen: of a later snapshot, but trained on.",
    "stability": "Probability that the score lies within the same grade, given the clicks.",
    "topic": "A subject of the collection; a query belongs to the topics whose names it mentions.",
    "variant": "Another spelling or word order of a query, counted together with it.",
}
"""Term and meaning, sorted by term."""
