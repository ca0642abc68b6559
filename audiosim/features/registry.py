"""Features by name: those that come with audiosim, one line each, and those that a program registers."""

from collections.abc import Mapping
from types import MappingProxyType

from audiosim.errors import InputError
from audiosim.features import audio, judgment, output
from audiosim.features.feature import Feature
from audiosim.features.judgment import EffectOfSystems, MeanElsewhere, MeanOfGroup, MeanOfSystems

fSYS = Feature("fSYS", "output", "nothing", 1, "share of systems that retrieved the document", output.system_share)
fTEAM = Feature("fTEAM", "output", "nothing", 1, "share of teams that retrieved the document", output.team_share)
OV = Feature("OV", "output", "nothing", 1, "distinct pairs over the most possible, in the collection", output.overlap)
aRANK = Feature("aRANK", "output", "nothing", 1, "mean rank at which systems retrieved the document", output.mean_rank)
sGEN = Feature("sGEN", "output", "nothing", 1, "1 if document and query are of one genre, else 0", output.same_genre)
fGEN = Feature("fGEN", "output", "nothing", 1, "share of the query's documents of this genre", output.genre_share)
fART = Feature("fART", "output", "nothing", 1, "share of the query's documents by this artist", output.artist_share)
fPOOL = Feature("fPOOL", "output", "nothing", 1, "the query's documents over the most possible", output.pool_share)
cGEN = Feature(
    "cGEN", "output", "nothing", 1, "chance that two of the query's are of one genre", output.genre_coherence
)
cART = Feature(
    "cART", "output", "nothing", 1, "chance that two of the query's are by one artist", output.artist_coherence
)
cSYS = Feature(
    "cSYS", "output", "nothing", 1, "mean fSYS of its systems for other queries", output.consensus_of_systems
)
fHUB = Feature("fHUB", "output", "nothing", 1, "share of other queries with the document retrieved", output.hubness)
aSYS = Feature("aSYS", "judgment", "all queries", 1, "mean grade of what its systems retrieved", MeanOfSystems())
aDOC = Feature(
    "aDOC", "judgment", "own query", 1, "mean grade of the query's other documents", MeanOfGroup(judgment.queries)
)
aGEN = Feature(
    "aGEN",
    "judgment",
    "own query",
    1,
    "mean grade of the query's other documents of this genre",
    MeanOfGroup(judgment.genres),
)
aART = Feature(
    "aART",
    "judgment",
    "own query",
    1,
    "mean grade of the query's other documents by this artist",
    MeanOfGroup(judgment.artists),
)
oSYS = Feature("oSYS", "judgment", "other queries", 1, "mean grade its systems get on other queries", EffectOfSystems())
oGEN = Feature(
    "oGEN",
    "judgment",
    "other queries",
    1,
    "mean grade of this genre on other queries of the query's genre",
    MeanElsewhere(judgment.genre_pairs, judgment.genres),
)
qSIM = Feature("qSIM", "audio", "nothing", 2, "closeness to the query as a rank in the index", audio.query_proximity)
aSIM = Feature("aSIM", "audio", "own query", 1, "grade of the nearest other document", audio.GradeOfNearest())
kSIM = Feature(
    "kSIM", "audio", "own query", 1, "mean grade of the others, weighted by closeness", audio.MeanByCloseness()
)

_FEATURES = {feature.name: feature for feature in vars().copy().values() if isinstance(feature, Feature)}
BUILT_IN: Mapping[str, Feature] = dict(_FEATURES)
FEATURES: Mapping[str, Feature] = MappingProxyType(_FEATURES)
AUDIO = tuple(feature for feature in BUILT_IN.values() if feature.kind == "audio")


def register_feature(feature: Feature) -> None:
    """Make a feature of one's own known in this process, so that models may have it among their terms.

    An error where the name is taken; to register the same feature again changes nothing.
    """
    if _FEATURES.setdefault(feature.name, feature) != feature:
        raise InputError(f"feature {feature.name} is known already, expected another name for a feature of your own")
