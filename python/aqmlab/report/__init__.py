"""The report: figures, and the HTML page that contains them.

This package imports `results`. Door: `page.write` and `figures.draw`.
"""
