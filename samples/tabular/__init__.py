"""A small trainer for tabular classification, on scikit-learn's wine data: `python -m tabular.train`."""
