"""The figures of the report that show measurements: 2 to 7 and 9 to 39."""

from aqmlab.studies.papers.armitage2017.figures import body, bulk, iot

FIGURES = (*body.FIGURES, *bulk.FIGURES, *iot.FIGURES)
