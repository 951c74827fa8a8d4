"""Completion of commands, options and names by a shell.

bash splits a word at `=` and `:`, and replaces only the part after the last of these characters.
Names of trials contain `=`, and so do options with values. Typer's script passes the parts as
words, so the script in this module passes the whole line instead.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from typer._click.shell_completion import add_completion_class, split_arg_string
from typer._completion_classes import BashComplete, completion_init

if TYPE_CHECKING:
    from typer._click.shell_completion import CompletionItem

_SCRIPT = """
%(complete_func)s() {
    local IFS=$'\\n'
    COMPREPLY=( $( env _AQMLAB_LINE="${COMP_LINE:0:COMP_POINT}" \\
                   _AQMLAB_BREAKS="${COMP_WORDBREAKS}" \\
                   %(autocomplete_var)s=complete_bash "$1" ) )
    return 0
}

complete -o default -F %(complete_func)s %(prog_name)s
"""


class BashLineComplete(BashComplete):
    """Completion for bash, which reads the whole line."""

    source_template = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the incomplete word, and the incomplete word."""
        line = os.environ["_AQMLAB_LINE"]
        words = split_arg_string(line)[1:]
        if not words or line[-1].isspace():
            return words, ""
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """The text with which bash replaces the last part of the incomplete word."""
        word, breaks = self.get_completion_args()[1], os.environ["_AQMLAB_BREAKS"]
        option, equals, _ = word.partition("=")
        is_value = bool(equals) and word.startswith("-")
        whole = f"{option}={item.value}" if is_value else str(item.value)
        kept = max((word.rfind(one) for one in "=:" if one in breaks), default=-1) + 1
        return whole[kept:]


def register() -> None:
    """Registers the completions of all shells with Typer."""
    completion_init()
    add_completion_class(BashLineComplete, "bash")
