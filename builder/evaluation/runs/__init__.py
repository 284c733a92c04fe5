"""Reading of run and qrels files, assignment to systems and snapshots, and checks of runs."""
