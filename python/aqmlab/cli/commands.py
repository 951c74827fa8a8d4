"""The commands, each with its summary, its module and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command before its modules are loaded."""

    summary: str
    """The first sentence of the command's help, which the list of commands also shows."""
    module: str
    """The name of the module in `cli` that runs the command. The module of this name in
    `cli.parameters` declares the command's parameters, if it has any."""
    parameters: str | None = None
    """The name of the class of the command's parameters, if it has any."""
    function: str = "command"
    """The name of the function that runs the command."""
    commands: Mapping[str, CommandEntry] = {}
    """The commands of a group. Without a command the group runs `function`."""


COMMANDS: Mapping[str, CommandEntry] = {
    "run": CommandEntry(
        "Run a scenario and show the results of each application.",
        "run",
        "RunParameters",
    ),
    "new": CommandEntry(
        "Write a household's file from words, or from answers.",
        "new",
        "NewParameters",
    ),
    "demand": CommandEntry(
        "Add up what a household needs, by category and direction.",
        "demand",
        "DemandParameters",
    ),
    "advise": CommandEntry(
        "Find the tier and the gateway that serve a household, and how to set it up.",
        "advise",
        "AdviseParameters",
    ),
    "list": CommandEntry(
        "List the names that scenarios can use, and studies.",
        "listing",
        "ListingParameters",
    ),
    "show": CommandEntry(
        "Show the results in a campaign's folder, finished or not.",
        "show",
        "ShowParameters",
    ),
    "report": CommandEntry(
        "Write the report of a campaign, and its figures as PNG and SVG files.",
        "report",
        "ReportParameters",
    ),
    "query": CommandEntry(
        "Query the tables of a campaign in SQL; without SQL, list the tables.",
        "query",
        "QueryParameters",
    ),
    "verify": CommandEntry(
        "Check that every file of a campaign is unchanged since it was written.",
        "verify",
        "VerifyParameters",
    ),
    "export": CommandEntry(
        "Write the results in a campaign's folder as files for other programs.",
        "export",
        "ExportParameters",
    ),
    "reproduce": CommandEntry(
        "Run the experiments of a paper and draw its figures.",
        "reproduce",
        "ReproduceParameters",
    ),
    "claims": CommandEntry(
        "Judge the claims of studies by the results of their trials.",
        "claims",
        "ClaimsParameters",
    ),
    "pcap": CommandEntry(
        "Run one trial and write NAME-home.pcap and NAME-wan.pcap.",
        "pcap",
        "PcapParameters",
    ),
    "spp": CommandEntry(
        "Measure round-trip times between two captures by synthetic packet pairs.",
        "spp",
        "SppParameters",
    ),
    "page": CommandEntry(
        "Write the page on which a browser simulates a home, and open it.",
        "page",
        "PageParameters",
    ),
    "schema": CommandEntry(
        "Print the JSON Schema of scenario files, for editors.",
        "schema",
    ),
    "cluster": CommandEntry(
        "Show how to start a Dask cluster for `--cluster`: one machine, SSH, Slurm or Kubernetes.",
        "cluster",
        "ClusterParameters",
    ),
    "demo": CommandEntry(
        "Run the built-in demonstrations and print the paths of their reports.",
        "demo",
        "DemoParameters",
    ),
    "validate": CommandEntry(
        "Compare the simulator with the Linux kernel's results for the same trials.",
        "validate",
        "ValidateParameters",
    ),
    "kernel": CommandEntry(
        "Show, prepare and check what the kernel engine needs.",
        "kernel",
        function="status",
        commands={
            "traces": CommandEntry(
                "Compare disciplines with the kernel's, packet by packet.",
                "traces",
                "TracesParameters",
            ),
            "status": CommandEntry(
                "Show the requirements of `--engine kernel` and which of them are present.",
                "kernel",
                function="status",
            ),
            "build": CommandEntry(
                "Build the image that the virtual machine boots.",
                "kernel",
                function="build",
            ),
        },
    ),
}
"""Every command, in the order of the help."""
