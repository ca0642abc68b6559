"""The verbs of the command: one line each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of the command.

    function  its place, module:name below audiosim; imported when the verb is called
    view      function that draws the result for people, likewise; empty: nothing is printed
    spelled   options that are not written as the function's parameters are, by parameter
    metavars  placeholders of arguments and options, by parameter
    hidden    parameters that are no options
    bar       words beside the bar, for a function with a parameter `progress`
    plots     True for an option that draws the result
    page      function that draws the result as a page, likewise, for an option --report
    reads     how the collection is read: "said", with what was read on stderr, and what a measure leaves unused;
              "whole", the same for a verb that uses all judgments; "quietly", with all its faults, which
              the verb reports itself; "not", the verb reads it
    by_measure  True for an option --measure that may be repeated: the function is called for each measure
    workers   True for options of processes that share the measures
    failed    attribute of the result which, when true, makes the exit code 1; a text is printed
    """

    function: str
    view: str = ""
    spelled: Mapping[str, str] = field(default_factory=dict)
    metavars: Mapping[str, str] = field(default_factory=dict)
    hidden: Sequence[str] = ()
    bar: str = "working"
    plots: bool = False
    page: str = ""
    reads: Literal["said", "whole", "quietly", "not"] = "said"
    by_measure: bool = False
    workers: bool = False
    failed: str = ""

    def summary(self) -> str:
        """First paragraph of the function's docstring, read from its source, so that nothing is imported."""
        module, name = self.function.split(":")
        source = Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        return source[source.index(f"\ndef {name}(") :].split('"""', 2)[1].split("\n\n")[0].replace("\n    ", " ")


@dataclass(frozen=True, slots=True)
class Group:
    """Verbs of one subject, each typed after the group's name.

    words    what they do
    example  one of them, as it is typed
    verbs    the verbs by name
    """

    words: str
    example: str
    verbs: Mapping[str, Verb]

    def summary(self) -> str:
        """Their common summary."""
        return self.words


OF_SOUND = {"jobs": "-j --jobs", "embeddings": "--with"}
OF_SOUND_NAMES = {"embeddings": "NAME", "vectors": "FILE", "folder": "FOLDER"}

SEEDED = {"seed": "--seed"}  # with words of its own
OF_TRAINING = {"collections": "COLLECTION", "output": "MODEL.json", "features": "LIST", "judged": "SHARES"}

# Commands grouped by their job: the panels of `audiosim --help`.
PANELS: dict[str, dict[str, Verb | Group]] = {
    "Begin": {
        "demo": Verb("service.demo:demo", "report.rank:demo_view", spelled={"folder": "DIR"}),
        "init": Verb(
            "report.sounds:init",
            "report.rank:music_folder_view",
            spelled=OF_SOUND,
            metavars=OF_SOUND_NAMES | {"output": "COLLECTION"},
            failed="failed",
        ),
        "check": Verb("evaluation.check:check", "report.rank:check_view", reads="quietly", failed="problems"),
    },
    "Rank systems": {
        "estimate": Verb("ranking.separation:verdicts", "report.rank:verdicts_view"),
        "compare": Verb("ranking.verbs:compare", "report.rank:verdict_view", failed="unmet"),
        "predict": Verb(
            "report.predictions:predict_to",
            "report.predictions:predictions_view",
            spelled={"form": "--format"},
            metavars={"output": "FILE|FOLDER", "draws": "N"},
        ),
        "predict-rows": Verb("report.predictions:predict_rows", spelled={"model": "MODEL", "scale": "--scale"}),
        "next": Verb("ranking.verbs:next_pairs", "report.rank:next_view"),
        "questions": Verb("campaign.questions:kinds_of_question", "report.rank:questions_view"),
        "plan": Verb("simulation.plan:plan", "report.rank:effort_view", hidden=["batch", "distribution"]),
        "history": Verb(
            "campaign.history:history", "report.rank:history_view", metavars={"sources": "SOURCE"}, plots=True
        ),
    },
    "Judge together": {
        "serve": Verb(
            "service.serving:serve",
            metavars={
                "collections": "COLLECTION",
                "config": "FILE",
                "db": "URL",
                "tokens": "URL",
                "home": "DIR",
                "allowed_host": "NAME",
                "trusted_proxy": "ADDRESS",
                "about": "these|queries|panel",
                "comparisons": "none|some|only",
                "candidates": "N",
                "port": "N",
                "host": "ADDRESS",
                "model": "MODEL",
                "measure": "MEASURE",
                "stopping_rule": "RULE",
            },
        ),
        "join": Verb("service.verbs:join", "report.rank:table_view", metavars={"target": "COLLECTION|URL"}),
        "import": Verb(
            "service.verbs:import_judgments",
            "report.rank:line_view",
            spelled={"judgments": "JUDGMENTS"},
            metavars={"service": "URL"},
            bar="importing",
        ),
        "judges": Verb("campaign.judges:judges", "report.judge:judges_view", bar="leaving out"),
        "judge-effect": Verb("campaign.judges:judge_effect", "report.judge:effect_view"),
        "set-aside": Verb("campaign.judges:set_aside", "report.rank:line_view"),
        "take-back": Verb("campaign.judges:take_back", "report.rank:line_view"),
        "disagreements": Verb("people.judges:disagreements", "report.judge:disagreements_view"),
        "order-effects": Verb("campaign.judges:order_effects", "report.rank:line_view"),
        "adjudicate": Verb(
            "service.verbs:adjudicate",
            "report.rank:listed_view",
            spelled={"query": "QUERY", "document": "DOCUMENT", "assessor": "ASSESSOR"},
            metavars={"service": "URL"},
        ),
        "token": Group(
            "Create, list and revoke the tokens that control access to a service.",
            "`audiosim token create --role assessor --name ann --db sqlite:///demo/campaign.db`",
            {
                "create": Verb(
                    "service.access.tokens:create",
                    "report.rank:token_view",
                    spelled={"role": "--role", "name": "--name"},
                    metavars={"expires": "DAYS"},
                    reads="not",
                ),
                "list": Verb("service.access.tokens:list_tokens", "report.rank:tokens_view"),
                "revoke": Verb("service.access.tokens:revoke", "report.rank:line_view"),
            },
        ),
    },
    "Evaluate and publish": {
        "evaluate": Verb(
            "evaluation.evaluation:evaluate",
            "report.evaluate:evaluation_view",
            hidden=["success"],
            by_measure=True,
            workers=True,
        ),
        "fits": Verb("evaluation.evaluation:fits", "report.evaluate:fits_view", by_measure=True),
        "reliability": Verb(
            "evaluation.reliability:stability",
            "report.evaluate:reliability_view",
            hidden=["resamples"],
            by_measure=True,
        ),
        "report": Verb("report.publication:write_report", metavars={"output": "FILE|FOLDER"}),
        "satisfaction": Verb(
            "people.preferences:satisfaction",
            "report.evaluate:satisfaction_view",
            metavars={"prior": "COLLECTION", "prior_scale": "graded-N|binary-M"},
            by_measure=True,
        ),
        "study": Group(
            "Study which of two lists people prefer: choose the lists, show them, collect the answers.",
            "`audiosim study sample demo --judgments demo/truth.qrels --measure Q@5 -o answers.tsv`",
            {
                "sample": Verb(
                    "people.examples:sample_study",
                    "report.evaluate:examples_view",
                    spelled={"scales": "--scale"},
                    metavars={"scales": "graded-N|binary-M"},
                    reads="whole",
                ),
                "serve": Verb(
                    "service.study_app:serve_study",
                    spelled={"log": "--log"},
                    metavars={"sounds": "DIR", "completion_code": "TEXT"},
                    hidden=["limit", "trap_share", "trust", "seed", "show"],
                    reads="not",
                ),
                "answers": Verb("people.study_log:study_answers", "report.evaluate:study_view"),
            },
        ),
    },
    "Models and their reliability": {
        "train": Verb("report.train:train_to", "report.train:training_view", SEEDED, OF_TRAINING, bar="validating"),
        "simulate": Verb("simulation.replay:simulate", "report.rank:replay_view", metavars={"stopping_rule": "RULE"}),
        "rules": Verb("simulation.replay:rules", "report.simulate:rules_view", metavars={"stopping_rule": "RULE"}),
        "calibration": Verb(
            "simulation.trials:calibration",
            "report.simulate:calibration_view",
            spelled={"jobs": "-j --jobs"},
            metavars={"learn": "LIST", "at": "LIST", "stopping_rule": "RULE"},
            hidden=["near", "ideal", "distribution", "by_query"],
            page="report.simulate:calibration_page",
        ),
        "worth": Verb("simulation.worth:worth", "report.simulate:worth_view", bar="leaving out"),
    },
    "Sound": {
        "extract": Verb(
            "report.sounds:extract_index",
            "report.rank:extraction_view",
            spelled=OF_SOUND,
            metavars=OF_SOUND_NAMES | {"sounds": "SOUND", "output": "INDEX"},
            failed="incomplete",
        ),
        "neighbours": Verb(
            "sound.neighbours:neighbours",
            "report.rank:neighbours_view",
            hidden=["judged"],
            spelled={"count": "-k", "scheduler": "--scheduler"},
            metavars={
                "indexes": "INDEX",
                "like": "SOUND",
                "queries": "FILE",
                "not_same_artist": "FILE",
                "output": "FILE",
                "by": "NAMES",
                "judged": "COLLECTION",
                "scheduler": "ADDRESS",
            },
        ),
        "map": Verb("report.sounds:sound_map", "report.rank:map_view", metavars={"descriptions": "NAME"}, reads="not"),
    },
    "Databases of campaigns": {
        "backup": Verb("campaign.archive:backup", "report.rank:listed_view", metavars={"without": "NAME"}),
        "verify": Verb("campaign.archive:verify", "report.rank:listed_view", metavars={"source": "FILE|URL"}),
        "restore": Verb("campaign.archive:restore", "report.rank:listed_view", metavars={"backup": "FILE"}),
        "migrate": Verb("campaign.schema:migrate", "report.rank:table_view", failed="due"),
    },
}
COMMANDS = {name: place for commands in PANELS.values() for name, place in commands.items()}
