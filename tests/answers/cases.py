"""Commands and requests with recorded answers.

{DATA} is ../shared/data, {FIX} the fixtures, {WORK} a folder of the case.
"""

MIREX, DEMO = "{DATA}/mirex2011", "{FIX}/demo"
DL, EH13, EH14, COVID, TED = (
    f"{{DATA}}/foreign/{one}" for one in ("dl2019", "ehealth2013", "ehealth2014", "covid1", "ted-ende")
)
VCC, SISEC, MQM, ROEN, SUMM = (
    f"{{DATA}}/listeners/{one}" for one in ("vcc2020-en", "sisec08", "mqm23-zhen", "wmt16-roen", "dialsumm")
)
TRUTH = "{FIX}/demo/truth.qrels"
J = ["--format", "json"]
COMMANDS: list[tuple[str, list[str], dict]] = []


def case(name, *args, **more):
    COMMANDS.append((name, list(args), more))


# Reading
for name, folder in {
    "mirex": MIREX,
    "demo": DEMO,
    "dl": DL,
    "eh13": EH13,
    "ted": TED,
    "vcc": VCC,
    "roen": ROEN,
    "mqm": MQM,
}.items():
    case(f"check {name}", "check", folder, *J)

# Ranking from few judgments
for name, folder in {
    "mirex": MIREX,
    "demo": DEMO,
    "dl": DL,
    "eh13": EH13,
    "eh14": EH14,
    "covid": COVID,
    "ted": TED,
}.items():
    cutoff = 1 if name == "ted" else 5
    case(f"estimate {name} nothing judged", "estimate", folder, "--judgments", "none", "--measure", f"CG@{cutoff}", *J)
    case(
        f"estimate {name} all judged",
        "estimate",
        folder,
        "--measure",
        f"CG@{cutoff}",
        *(["--judgments", TRUTH] if name == "demo" else []),
        *J,
    )
for measure in ("P(min=40)@5", "nDCG@5", "RBP(p=0.8)@5", "DCG@5", "AP(min=40)@5", "RR(min=40)@5", "Q@5", "ERR@5"):
    case(
        f"estimate mirex {measure}", "estimate", MIREX, "--judgments", "none", "--measure", measure, *J, tolerance=1e-5
    )
for model in ("joint", "mout", "mjud", "loutput", "ljudge", "historical", "uniform"):
    case(f"estimate mirex model {model}", "estimate", MIREX, "--judgments", "none", "--model", model, *J)
case("estimate mirex about queries", "estimate", MIREX, "--about", "queries", *J)
case("estimate dl about queries", "estimate", DL, "--about", "queries", *J)
case("estimate eh14 normal", "estimate", EH14, "--distribution", "normal", *J)
case("estimate scale graded", "estimate", MIREX, "--scale", "graded-4", *J)
for name, folder in {"vcc": VCC, "sisec": SISEC, "mqm": MQM, "summ": SUMM}.items():
    case(f"estimate {name}", "estimate", folder, *J, tolerance=1e-5)
    case(f"estimate {name} about listeners", "estimate", folder, "--about", "listeners", *J, tolerance=1e-5)
case("estimate roen by comparisons", "estimate", ROEN, *J, tolerance=1e-5)
case(
    "estimate dl with a machine",
    "estimate",
    "{WORK}/dl",
    *J,
    files={
        "dl/runs.trec": "".join(
            f"q{q} Q0 d{q}{(r + s) % 9} {r} {10 - r} s{s}\n" for q in range(12) for s in range(4) for r in range(1, 6)
        ),
        "dl/judgments.qrels": "".join(f"q{q} 0 d{q}{d} {(q * d) % 3}\n" for q in range(6) for d in range(9)),
        "dl/judges/m.tsv": "query\tdocument\tgrade\n"
        + "".join(f"q{q}\td{q}{d}\t{(q * d + d) % 5}\n" for q in range(12) for d in range(9)),
    },
)
case(
    "estimate with own evidence",
    "estimate",
    "{WORK}/c",
    *J,
    files={
        "c/runs.trec": "".join(
            f"q{q} Q0 d{q}{(r + s) % 9} {r} {10 - r} s{s}\n" for q in range(12) for s in range(4) for r in range(1, 6)
        ),
        "c/judgments.qrels": "".join(f"q{q} 0 d{q}{d} {(q * d) % 3}\n" for q in range(6) for d in range(9)),
        "c/evidence/fit.tsv": "query\tdocument\tvalue\n"
        + "".join(f"q{q}\td{q}{d}\t{(q * d) % 7}\n" for q in range(12) for d in range(9)),
    },
)

# Two systems, pairs, plans
case("compare demo", "compare", DEMO, "timbre-full", "rhythm", "--judgments", TRUTH, *J)
case("compare mirex", "compare", MIREX, "SSPK2", "ML1", *J)
case("compare mirex these", "compare", MIREX, "SSPK2", "ML1", "--about", "these", *J)
case(
    "compare fails its condition",
    "compare",
    DEMO,
    "random",
    "timbre-full",
    "--judgments",
    TRUTH,
    "--fail-unless",
    "random better",
    *J,
)
for name, folder in {"mirex": MIREX, "demo": DEMO, "dl": DL}.items():
    case(f"predict {name} nothing judged", "predict", folder, "--judgments", "none", *J)
case("predict mirex mout", "predict", MIREX, "--judgments", "none", "--model", "mout", *J)
case("predict mirex mjud", "predict", MIREX, "--judgments", "none", "--model", "mjud", *J)
case(
    "predict any pair",
    "predict",
    DEMO,
    "--pairs",
    "{WORK}/pairs.tsv",
    *J,
    files={"pairs.tsv": "query\tdocument\nq01\td001\nq01\td002\nq02\td030\n"},
)
for rule in ("differences", "scores", "unsettled", "doubts", "variances", "drawn", "random", "pooled"):
    case(f"next demo {rule}", "next", DEMO, "-n", "10", "--selection-rule", rule, "--seed", "1", *J)
case("next mirex", "next", MIREX, "--judgments", "none", "-n", "20", "--model", "mjud", *J)
case("next by query", "next", DEMO, "-n", "10", "--by-query", *J)
case("plan demo", "plan", DEMO, "--campaigns", "8", "--seed", "1", *J, skip=["second", "hours"], tolerance=1e-4)

# Everything judged
for measure in ("CG@5", "nDCG@5", "AP(min=40)@5", "P(min=40)@5", "ADR@5", "RBP(p=0.8)@5", "ERR@5", "Q@5"):
    case(f"evaluate mirex {measure}", "evaluate", MIREX, "--measure", measure, *J)
for test in ("t", "wilcoxon", "sign", "permutation", "bootstrap", "friedman"):
    case(
        f"evaluate eh13 {test}",
        "evaluate",
        EH13,
        "--measure",
        "nDCG@5",
        "--test",
        test,
        "--resamples",
        "2000",
        *J,
        tolerance=1e-5,
    )
case("evaluate dl", "evaluate", DL, "--measure", "nDCG@5", *J)
case("evaluate users", "evaluate", MIREX, "--measure", "CG@5", "--users", "50", *J)
case("reliability mirex", "reliability", MIREX, *J)
case("reliability dl nDCG", "reliability", DL, "--measure", "nDCG@5", *J)
case("reliability split half", "reliability", EH14, "--split-half", "--trials", "20", "--seed", "1", *J, tolerance=1e-5)
case("satisfaction", "satisfaction", "{DATA}/preferences/answers.tsv", *J)
case(
    "satisfaction CG@5 broad",
    "satisfaction",
    "{DATA}/preferences/answers.tsv",
    "--measure",
    "CG@5",
    "--scale",
    "broad",
    *J,
)

# People
for name, folder in {"sisec": SISEC}.items():
    case(f"judges {name}", "judges", folder, *J, tolerance=1e-5)
case("history demo", "history", DEMO, *J)
case("questions mirex", "questions", MIREX, *J, tolerance=1e-5)
case("disagreements sisec", "disagreements", SISEC, "--count", "3", *J, tolerance=1e-5)
case("judges order effects", "order-effects", SISEC, *J, tolerance=1e-5)
case("judges leave one out", "judges", SISEC, "--leave-one-out", "2", *J, tolerance=1e-5)

# Models and their reliability
case("simulate mirex mjud", "simulate", MIREX, "--model", "mjud", "--batch", "1", "--target", "0.95", *J)
case("simulate demo joint", "simulate", DEMO, "--judgments", TRUTH, "--stopping-rule", "judgments=60", *J)
case("simulate dl parts", "calibration", DL, "--parts", "3", "--queries", "15", "--at", "0,50,100", *J, tolerance=1e-5)
case(
    "worth demo",
    "worth",
    DEMO,
    "--judgments",
    TRUTH,
    "--judged",
    "0",
    "--splits",
    "2",
    "--no-replays",
    *J,
    tolerance=1e-4,
)
case(
    "train demo",
    "train",
    DEMO,
    "--judgments",
    TRUTH,
    "-o",
    "{WORK}/m.json",
    "--seed",
    "1",
    *J,
    made=["m.json"],
    tolerance=1e-4,
    skip=["date"],
)
case(
    "train mirex columns",
    "train",
    MIREX,
    "-o",
    "{WORK}/m.json",
    "--features",
    "fTEAM,fGEN,fART",
    "--seed",
    "1",
    *J,
    made=["m.json"],
    tolerance=1e-4,
    skip=["date"],
)

# Sound
CLIPS = "{DATA}/sounds"
case(
    "extract and neighbours",
    "neighbours",
    "{WORK}/s.index",
    "-k",
    "5",
    *J,
    before=[["extract", CLIPS, "-o", "{WORK}/s.index"]],
    tolerance=2e-3,
)
case(
    "neighbours by KL",
    "neighbours",
    "{WORK}/s.index",
    "-k",
    "5",
    "--divergence",
    "kl",
    "--no-mutual-proximity",
    *J,
    before=[["extract", CLIPS, "-o", "{WORK}/s.index"]],
    tolerance=2e-3,
)
case(
    "neighbours like a clip",
    "neighbours",
    "{WORK}/s.index",
    "-k",
    "5",
    "--like",
    "{DATA}/sounds/t0340.ogg",
    *J,
    before=[["extract", CLIPS, "-o", "{WORK}/s.index"]],
    tolerance=2e-3,
)

# Files made
case("report", "report", DEMO, "-o", "{WORK}/r.html", made=["r.html"])
case(
    "join",
    "join",
    "{WORK}/demo",
    "{WORK}/new.trec",
    "--system",
    "new",
    *J,
    copies=[DEMO],
    files={
        "new.trec": "".join(
            f"q{q:02d} Q0 d{(q * 7 + r) % 72 + 1:03d} {r} {9 - r} new\n" for q in range(1, 25) for r in range(1, 6)
        )
    },
)

# What is wrong gets one line and a code
RUNS = (
    "q1 Q0 a 1 2 s\nq1 Q0 b 2 1 s\nq2 Q0 a 1 2 s\nq2 Q0 b 2 1 s\n"
    "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 b 1 2 t\nq2 Q0 a 2 1 t\n"
)
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq2 0 b 0\n"
WRONG = {
    "no folder": None,
    "run line of five": {"c/runs.trec": RUNS.replace("q2 Q0 a 1 2 s", "q2 Q0 a 1 2"), "c/judgments.qrels": QRELS},
    "document twice": {"c/runs.trec": RUNS + "q2 Q0 b 3 0 t\n", "c/judgments.qrels": QRELS},
    "NaN score": {"c/runs.trec": RUNS.replace("1 2 s", "1 nan s"), "c/judgments.qrels": QRELS},
    "grade is a word": {"c/runs.trec": RUNS, "c/judgments.qrels": QRELS.replace("q2 0 b 0", "q2 0 b good")},
    "pair twice": {"c/runs.trec": RUNS, "c/judgments.qrels": QRELS + "q1 0 a 0\n"},
    "grade off the scale": {"c/runs.trec": RUNS, "c/judgments.qrels": QRELS.replace("q1 0 a 1", "q1 0 a 250")},
    "other queries": {"c/runs.trec": RUNS, "c/judgments.qrels": QRELS.replace("q1", "x1").replace("q2", "x2")},
    "unknown key": {"c/runs.trec": RUNS, "c/judgments.qrels": QRELS, "c/collection.toml": "cutof = 2\n"},
    "UTF-16": {"c/runs.trec": "\ufeffq\u00001\u0000", "c/judgments.qrels": QRELS},
    "empty run": {"c/runs.trec": "", "c/judgments.qrels": QRELS},
}
for name, files in WRONG.items():
    case(f"wrong: {name}", "evaluate", "{WORK}/c", "--measure", "P@1", *J, files=files or {})
case(
    "unjudged result",
    "evaluate",
    "{WORK}/c",
    "--measure",
    "P@1",
    *J,
    files={"c/runs.trec": RUNS, "c/judgments.qrels": QRELS.replace("q2 0 b 0\n", "")},
)
case(
    "small and right",
    "evaluate",
    "{WORK}/c",
    "--measure",
    "P@1",
    *J,
    files={"c/runs.trec": RUNS, "c/judgments.qrels": QRELS},
)
for option in (["--measure", "nDGC@5"], ["--model", "jiont"], ["--about", "nobody"], ["--ideal", "x"]):
    case(f"wrong: {' '.join(option)}", "estimate", DEMO, *option, *J)

# A served collection: name, method, path, body, options
TIMES = ["time", "seconds", "version", "pace", "uptime", "request_id", "detail", "title", "until"]
C = "/v1/collections/demo"
ANN = {"assessor": "ann", "query": "q01", "document": "d027", "grade": 60}
REQUESTS = [
    ("health", "GET", "/health/ready", None, {"skip": TIMES}),
    ("catalogue", "GET", "/v1/collections", None, {"skip": TIMES}),
    ("collection", "GET", C, None, {"skip": TIMES}),
    ("campaign before", "GET", C + "/campaign", None, {"skip": TIMES}),
    (
        "predictions of pairs",
        "POST",
        C + "/predictions",
        {"query": ["q01", "q02"], "document": ["d027", "d001"], "include": ["probabilities"]},
        {"skip": TIMES},
    ),
    (
        "predictions unknown query",
        "POST",
        C + "/predictions",
        {"query": ["nobody"], "document": ["d030"]},
        {"skip": TIMES},
    ),
    ("predictions of one pair without a document", "POST", C + "/predictions", {"query": ["q01"]}, {"skip": TIMES}),
    ("next", "POST", C + "/next", {"assessor": "ann", "count": 3}, {"skip": TIMES}),
    ("judgment", "POST", C + "/judgments", ANN, {"headers": {"Idempotency-Key": "k1"}, "times": 2, "skip": TIMES}),
    ("judgment off the scale", "POST", C + "/judgments", ANN | {"grade": 101}, {"skip": TIMES}),
    ("judgment of nobody", "POST", C + "/judgments", ANN | {"assessor": " "}, {"skip": TIMES}),
    ("judgment unknown field", "POST", C + "/judgments", ANN | {"grad": 3}, {"skip": TIMES}),
    ("judgment not JSON", "POST", C + "/judgments", "x", {"skip": TIMES}),
    ("answers", "GET", C + "/answers?assessor=ann", None, {"skip": TIMES}),
    ("undo", "POST", C + "/undo", {"assessor": "ann"}, {"skip": TIMES}),
    ("status", "GET", C + "/status", None, {"skip": TIMES}),
    ("ranking", "GET", C + "/ranking", None, {"skip": TIMES, "tolerance": 1e-5}),
    ("unknown collection", "GET", "/v1/collections/nope/campaign", None, {"skip": TIMES}),
    ("unknown path", "GET", "/v1/nowhere", None, {"skip": TIMES}),
    ("start page", "GET", "/", None, {}),
    ("judging page", "GET", "/judge/demo", None, {}),
    ("organiser's page", "GET", "/organise/demo", None, {}),
    ("documentation", "GET", "/docs", None, {}),
]
