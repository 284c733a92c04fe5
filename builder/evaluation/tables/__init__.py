"""Result tables of an evaluation: means, significance, persistence, agreement and query scores."""
