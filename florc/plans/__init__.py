"""What a replay is to run: picked, foreseen, looked for.

`selection` picks iterations (--at, --sample), `narrowing` and `reaching` find where added lines can show
nothing, `planning` foresees what becomes of each iteration and `outlook` says it; `searching` looks for the
first difference (`bisection`, `truth`).
"""
