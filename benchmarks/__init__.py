"""What florc costs and saves, measured: `make bench`, or `python -m benchmarks --quick` for a look.

Enters: training scripts (`workloads/`, plain programs with marked places). Leaves: `.bench/results/*.json`,
and from these `results.md` with its plots.

    catalog.py       the workloads: what their probes look at, how one would save them by hand
    variants.py      a workload's text and a variant's name -> the script that is run (pure)
    peers/           the same for other recorders, and how they record and replay
    environments.py  the peers' virtual environments, in `.bench/envs`
    desk.py          the folder where one variant runs; florc_runs.py: what a recorded run holds
    measuring.py     run one command; CPU seconds, wall seconds, marks, memory of its whole process tree
    checking.py      what was printed against the truth (pure)
    campaign.py      which runs, in which order, each checked against the truth; writes results as they come
    figures.py       results -> medians of paired ratios, their spread (pure)
    report.py        results -> results.md, overhead.svg, replay.svg (svg.py draws)
    queries.py       what questions of different kinds cost, asked of 40 epochs -> queries.md
    journal.py       what the branch journal alone costs -> journal.md
"""
