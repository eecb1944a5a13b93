"""What programs note by `florc.log`, in a run and in its replays, as tables.

`answering` keeps what a replay notes, `reading` finds what a run has, `rows` makes a table of it, which
`showing` and `tables` print and `dataframes` gives to pandas.
"""
