"""Probes wherever people put them, in whatever form: each replay against plain Python.

program.py       the recorded program, its modules, and stand-ins for libraries that may not be installed
table.py         the probes: what is edited, and how many epochs may run again for it
test_places.py   record once, then replay each
"""
