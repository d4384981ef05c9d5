"""Experiments: runs are rows, tables and figures are functions of rows.

``tensorcrp compare`` puts every method on the user's data; ``tensorcrp reproduce`` runs
the paper's experiments beside its published numbers. In: names of data sets. Out: rows
(JSON Lines), tables, figures, a report.
"""
