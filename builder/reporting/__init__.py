"""How results are shown: numbers as text, and reports by one kit of templates and charts."""
