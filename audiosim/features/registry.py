"""All features that come with audiosim, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from audiosim.features import audio, judgment, output
from audiosim.features.feature import Feature
from audiosim.features.judgment import EffectOfSystems, MeanElsewhere, MeanOfGroup, MeanOfSystems

OUTPUT = (
    Feature("fSYS", "output", "nothing", 1, "share of systems that retrieved the document", output.system_share),
    Feature("fTEAM", "output", "nothing", 1, "share of teams that retrieved the document", output.team_share),
    Feature("OV", "output", "nothing", 1, "distinct pairs over the most possible, in the collection", output.overlap),
    Feature("aRANK", "output", "nothing", 1, "mean rank at which systems retrieved the document", output.mean_rank),
    Feature("sGEN", "output", "nothing", 1, "1 if document and query are of one genre, else 0", output.same_genre),
    Feature("fGEN", "output", "nothing", 1, "share of the query's documents of this genre", output.genre_share),
    Feature("fART", "output", "nothing", 1, "share of the query's documents by this artist", output.artist_share),
    Feature("fPOOL", "output", "nothing", 1, "the query's documents over the most possible", output.pool_share),
    Feature("cGEN", "output", "nothing", 1, "chance that two of the query's are of one genre", output.genre_coherence),
    Feature(
        "cART", "output", "nothing", 1, "chance that two of the query's are by one artist", output.artist_coherence
    ),
    Feature("cSYS", "output", "nothing", 1, "mean fSYS of its systems for other queries", output.consensus_of_systems),
    Feature("fHUB", "output", "nothing", 1, "share of other queries with the document retrieved", output.hubness),
)
JUDGMENT = (
    Feature("aSYS", "judgment", "all queries", 1, "mean grade of what its systems retrieved", MeanOfSystems()),
    Feature(
        "aDOC", "judgment", "own query", 1, "mean grade of the query's other documents", MeanOfGroup(judgment.queries)
    ),
    Feature(
        "aGEN",
        "judgment",
        "own query",
        1,
        "mean grade of the query's other documents of this genre",
        MeanOfGroup(judgment.genres),
    ),
    Feature(
        "aART",
        "judgment",
        "own query",
        1,
        "mean grade of the query's other documents by this artist",
        MeanOfGroup(judgment.artists),
    ),
    Feature("oSYS", "judgment", "other queries", 1, "mean grade its systems get on other queries", EffectOfSystems()),
    Feature(
        "oGEN",
        "judgment",
        "other queries",
        1,
        "mean grade of this genre on other queries of the query's genre",
        MeanElsewhere(judgment.genre_pairs, judgment.genres),
    ),
)
AUDIO = (
    Feature("qSIM", "audio", "nothing", 2, "closeness to the query as a rank in the index", audio.query_proximity),
    Feature("aSIM", "audio", "own query", 1, "grade of the nearest other document", audio.GradeOfNearest()),
    Feature(
        "kSIM", "audio", "own query", 1, "mean grade of the others, weighted by closeness", audio.MeanByCloseness()
    ),
)
FEATURES: Mapping[str, Feature] = MappingProxyType({feature.name: feature for feature in (*OUTPUT, *JUDGMENT, *AUDIO)})
