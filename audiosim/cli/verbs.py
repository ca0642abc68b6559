"""The verbs of the command: one line each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of the command.

    function  its place, module:name below audiosim; imported when the verb is called
    view      function that draws the result for people, likewise; empty: nothing is printed
    spelled   options that are not written as the function's parameters are, by parameter
    metavars  placeholders of arguments and options, by parameter
    hidden    parameters that are no options
    bar       words beside the bar, for a function with a parameter `progress`
    failed    attribute of the result which, when true, makes the exit code 1; a text is printed
    """

    function: str
    view: str = ""
    spelled: Mapping[str, str] = field(default_factory=dict)
    metavars: Mapping[str, str] = field(default_factory=dict)
    hidden: Sequence[str] = ()
    bar: str = "working"
    failed: str = ""

    def summary(self) -> str:
        """First paragraph of the function's docstring, read from its source, so that nothing is imported."""
        module, name = self.function.split(":")
        source = Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        body = source[source.find(f"\ndef {name}(") :] if name != "app" else source
        return body.split('"""', 2)[1].split("\n\n")[0].replace("\n    ", " ")


# Commands grouped by their job: the panels of `audiosim --help`.
PANELS = {
    "Begin": {
        "demo": Verb("cli.service_commands:demo"),
        "init": Verb("cli.sound:init"),
        "check": Verb("cli.check_command:check"),
    },
    "Rank systems": {
        "estimate": Verb("ranking.separation:verdicts", "report.rank:verdicts_view"),
        "compare": Verb("ranking.verbs:compare", "report.rank:verdict_view", failed="unmet"),
        "predict": Verb("cli.predict_command:predict"),
        "next": Verb("ranking.verbs:next_pairs", "report.rank:table_view"),
        "questions": Verb("campaign.questions:kinds_of_question", "report.rank:table_view"),
        "plan": Verb("simulation.plan:plan", "report.rank:effort_view"),
        "history": Verb("cli.history_command:history"),
    },
    "Judge together": {
        "serve": Verb("cli.service_commands:serve"),
        "join": Verb("cli.join_command:join"),
        "import": Verb("cli.database_commands:import_judgments"),
        "judges": Verb("cli.people:judges"),
        "adjudicate": Verb("cli.adjudicate_command:adjudicate"),
        "token": Verb("cli.access_tokens:app"),
    },
    "Evaluate and publish": {
        "evaluate": Verb("cli.evaluation_commands:evaluate"),
        "reliability": Verb("cli.evaluation_commands:reliability"),
        "report": Verb("cli.evaluation_commands:report"),
        "satisfaction": Verb("cli.study_commands:satisfaction"),
        "study": Verb("cli.study_commands:app"),
    },
    "Models and their reliability": {
        "train": Verb("cli.training_command:train"),
        "simulate": Verb("cli.simulation_command:simulate"),
        "worth": Verb("cli.worth_of_evidence:worth"),
    },
    "Sound": {
        "extract": Verb("cli.sound:extract"),
        "neighbours": Verb("cli.sound:neighbours"),
        "map": Verb("cli.sound:map_sounds"),
    },
    "Databases of campaigns": {
        "backup": Verb("cli.database_commands:backup"),
        "verify": Verb("cli.database_commands:verify_logs"),
        "restore": Verb("cli.database_commands:restore"),
        "migrate": Verb("cli.database_commands:migrate"),
    },
}
COMMANDS = {name: place for commands in PANELS.values() for name, place in commands.items()}
