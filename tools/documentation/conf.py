"""The configuration of Sphinx for the documentation site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

import aqmlab
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.documentation import signatures

project = "aqmlab"
release = version = aqmlab.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"

# The anchors are made as on GitHub, so that a link works on GitHub and in the site.
myst_heading_anchors = 4

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_title = f"aqmlab {release}"
html_copy_source = False
html_show_search_summary = False  # a site opened from files cannot fetch pages for summaries
html_show_sphinx = False
html_show_copyright = False
highlight_language = "none"

default_role = "code"
smartquotes = False  # This setting would replace the two hyphens of options by a dash.
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80
# Blocks with output of commands cannot be highlighted as shell scripts.
suppress_warnings = ["misc.highlighting_failure"]


def setup(app: Sphinx) -> None:
    """Registers the function that makes the signatures of pydantic models."""
    app.connect("autodoc-process-signature", signatures.model_signature)
