"""Reports as one HTML file: no script, no other file, no network.

In: a fitted `FileClassifier`, or the tables and figures of a comparison. Out: a page
for light and dark screens, from 400 pixels on.
"""

from tensorcrp.report.fit_report import check_report, write_fit_report
from tensorcrp.report.html_page import Part, page

__all__ = ["Part", "check_report", "page", "write_fit_report"]
