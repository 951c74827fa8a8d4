"""The report: figures, and the HTML page that contains them.

This package imports `results`. Public interface: `page.write` and `figures.draw`.
"""
