"""The report: figures and the HTML page that holds them.

Knows results. Door: `page.write` and `figures.draw`.
"""
