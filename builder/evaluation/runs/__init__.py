"""Runs and judgements as people have them: files, folders, archives, and what their names say."""
