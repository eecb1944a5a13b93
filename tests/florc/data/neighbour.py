"""Imported by the probe."""
import warnings


def twice(number):
    for _ in range(1):
        len(str(number))
    return number


def breaks():
    for step in range(3):
        twice(step)
        1 / (2 - step)  ; print(step)


def warns():
    warnings.warn("from the neighbour")
