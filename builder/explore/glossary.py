"""Definitions of the terms used in the explorer, for its glossary page and for the manual."""

TERMS: dict[str, str] = {
    "aligned id": "An id that is the same for a query or page in every snapshot. Collections "
    "built from logs and crawls use only aligned ids. An imported release keeps its own ids in "
    "its files, but the explorer shows aligned ids.",
    "attribution": "Decomposition of a change in a system's score into the effects of changed "
    "documents, queries and judgements. The remainder is due to the system itself and its "
    "collection statistics.",
    "click": "A user's selection of a result. Several clicks on the same result in one impression "
    "count once.",
    "core query": "A query that is listed in every snapshot.",
    "credible interval": "Interval that contains, with a given posterior probability "
    "(qrels.credibility, 90 % by default), the true score of a query-document pair. A wide "
    "interval means few examinations.",
    "degree of change": "How much of the text of an updated page changed: cosmetic (almost "
    "nothing), edited, or rewritten (most of it).",
    "Dice": "Dice coefficient of the word sets of two versions: 1 if all words are the same, 0 if "
    "no words are in common.",
    "examination": "An impression in which the user examined the result, according to the click "
    "model. By default, users examine every result down to the last click.",
    "grade": "0 not relevant, 1 relevant, 2 highly relevant.",
    "grade flip": "Change in the grade of a query-document pair between two consecutive snapshots.",
    "held out": "A query of a training snapshot that is reserved for testing.",
    "impression": "One display of a result page. The impressions of a query are the times that the "
    "query was issued. The impressions of a query-document pair are those in which the document "
    "was among the results of the query.",
    "judged": "A query with at least one graded document, or a query-document pair with a grade.",
    "listed": "A query in the query file of a snapshot. Releases may contain judgements for "
    "queries that they do not list.",
    "loose match": "Two URLs that differ only in their scheme (http or https), a www prefix, or a "
    "trailing slash.",
    "moved": "A page that disappeared while its text appeared at another URL.",
    "nDCG@10": "Normalized discounted cumulative gain of the top ten results: 1 means the best "
    "possible ranking, 0 means no relevant document in the top ten.",
    "qrel": "A relevance judgement: a query, a document, a grade, and the evidence for the grade.",
    "reject": "A row of the raw data or of a table that a stage dropped, with the reason.",
    "sampled": "A page in the random sample of the crawl, which is independent of what users saw. "
    "Every snapshot is sampled with the same hash function.",
    "score of a judgement": "Probability of relevance, estimated from clicks. It determines the "
    "grade.",
    "seen": "A query of a later snapshot that is in the training data, itself or as a variant.",
    "shown": "A page that was among the results of a selected query of the snapshot.",
    "snapshot": "The state of the collection in one period, such as 2022-06.",
    "source of a grade": "click: derived from clicks; manual: assigned by an assessor; release: "
    "imported from a release, which does not state the origin.",
    "split": "train: released with judgements for training; heldout: from the same snapshot, "
    "reserved for testing; test: from a later snapshot; seen: from a later snapshot, but also in "
    "the training data.",
    "stability": "Posterior probability that the true score lies within the score range of the "
    "click-based grade.",
    "topic": "A subject of the collection; a query belongs to the topics whose names it mentions.",
    "variant": "Another spelling, inflection or word order of a query, counted together with it.",
}
"""Definition of each term of the explorer, sorted by term."""
