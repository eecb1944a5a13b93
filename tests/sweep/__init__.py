"""A probe at every statement position of real programs, each replay held against plain Python.

    positions.py   where a statement can be added to a source, and the source with lines added there
    survey.py      run by the program itself, once: which expressions have a value at each position
    programs.py    the programs: samples and whole-program cases, with small arguments
    sweeping.py    truth, record, one replay a position, verdicts
    __main__.py    `make sweep`: all of it, in worker processes, with a table at the end

Probes are pure, so one plain run with the probes of all positions gives the truth of each: its text, less
the tagged lines of all others. That what stands between the tags is the original's text is checked each time.
"""
