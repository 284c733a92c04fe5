"""How results are shown: numbers and tables, as text and as HTML."""
