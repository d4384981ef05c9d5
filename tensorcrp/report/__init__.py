"""Reports as one HTML file: no script, no other file, no network.

In: a fitted `FileClassifier`, or the tables and figures of a comparison. Out: a page
for light and dark screens, from 400 pixels on.
"""

from tensorcrp.report.fit_report import check_report, write_fit_report

__all__ = ["check_report", "write_fit_report"]
