"""Short lists of French and English stop words for the BM25 baseline.

The lists contain only function words. Function words that are also content words ("été", "or",
"car", "son", "who", "us") and most single letters ("vitamine c") are not included.
"""

_FRENCH = """
au aux avec ce ces cet cette ceci cela ça celle celles celui ceux comme comment dans de des donc
du elle elles en entre est et étaient était être eux fait faire il ils je la le les leur leurs lui
ma mais me même mes moi mon ne ni nos notre nous on ont ou où par pas peut plus pour pourquoi qu
quand que quel quelle quelles quels qui quoi sa sans se sera ses si sont sous sur ta te tes toi ton
tous tout toute toutes très tu un une vos votre vous y à aujourd hui afin ainsi alors après avant
avoir avait ayant chez contre depuis dont encore ici jusque là lors lorsque parce pendant peu
plusieurs presque puis puisque quelque quelques quoique selon soit tandis tant toujours vers voici
voilà
"""

_ENGLISH = """
a about above after again against all also am an and any are as at be because been before being
below between both but by can cannot could did do does doing don down during each few for from
further had has have having he her here hers him his how i if in into is it its itself just me
more most my no nor not of off on once only or other our ours out over own same she should so some
such than that the their theirs them then there these they this those through to too under until up
very was we were what when where which while whom why will with would you your yours
"""

STOP_WORDS = {"fr": frozenset(_FRENCH.split()), "en": frozenset(_ENGLISH.split())}
"""Stop words by language, lowercased, with accents."""
