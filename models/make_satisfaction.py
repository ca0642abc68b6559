"""Write satisfaction/published.json: the published mappings from a score to the share of satisfied users.

    python models/make_satisfaction.py

Source: J. Urbano, "Evaluation in Audio Music Similarity", PhD thesis, 2013, Table 4.3.
"""

import json
from pathlib import Path

from audiosim.measures.measure import MEASURES, Measure
from audiosim.ordinal.model import checksum
from audiosim.tables.text import write_text

HERE = Path(__file__).parent
SOURCE = "Urbano (2013), PhD thesis, Table 4.3: cubics fitted to 2,025 nonpreferences, user-oriented scores at cutoff 5"

# scale: {(measure, gain): (a0, a1, a2, a3)}, in the order of the table
TABLE_4_3 = {
    "broad": {
        ("CG", "linear"): (0.1872, -0.0969, 1.9908, -1.237),
        ("CG", "exponential"): (0.1601, 0.9345, -0.3245, 0.1463),
        ("DCG", "linear"): (0.1614, 0.4043, 1.1288, -0.8535),
        ("DCG", "exponential"): (0.1253, 1.2334, -0.7733, 0.2884),
        ("Q", "linear"): (0.1291, 1.0993, -0.2774, -0.1157),
        ("Q", "exponential"): (0.1117, 1.6064, -1.4001, 0.5267),
        ("RBP", "linear"): (0.1666, 0.3591, 1.2609, -0.9536),
        ("RBP", "exponential"): (0.1297, 1.1906, -0.6452, 0.204),
        ("GAP", "linear"): (0.1018, 1.7272, -1.6028, 0.6471),
    },
    "fine": {
        ("CG", "linear"): (0.2007, -0.4632, 3.6754, -2.6338),
        ("DCG", "linear"): (0.1873, -0.3, 3.3552, -2.4675),
        ("Q", "linear"): (0.1509, 0.3214, 2.0057, -1.7292),
        ("RBP", "linear"): (0.1722, -0.1443, 3.0142, -2.253),
        ("GAP", "linear"): (0.1131, 1.0327, 0.6077, -0.9409),
    },
    "graded-4": {
        ("CG", "linear"): (0.2162, -0.1609, 2.151, -1.3492),
        ("CG", "exponential"): (0.1879, 0.6952, 0.5243, -0.5204),
        ("DCG", "linear"): (0.1908, 0.1522, 1.637, -1.1374),
        ("DCG", "exponential"): (0.1592, 1.1177, -0.4211, 0.0049),
        ("Q", "linear"): (0.143, 0.9574, -0.0258, -0.2404),
        ("Q", "exponential"): (0.1125, 1.8645, -1.93, 0.8061),
        ("RBP", "linear"): (0.1884, 0.1822, 1.5873, -1.1176),
        ("RBP", "exponential"): (0.1605, 1.0565, -0.2106, -0.1524),
        ("GAP", "linear"): (0.124, 1.4399, -0.883, 0.1802),
    },
    "graded-5": {
        ("CG", "linear"): (0.1895, -0.0282, 1.9266, -1.2236),
        ("CG", "exponential"): (0.1734, 1.1467, -0.3836, -0.0491),
        ("DCG", "linear"): (0.1853, 0.1434, 1.737, -1.2215),
        ("DCG", "exponential"): (0.141, 1.5581, -1.2976, 0.465),
        ("Q", "linear"): (0.1438, 0.8224, 0.3413, -0.4773),
        ("Q", "exponential"): (0.0956, 2.4332, -3.2653, 1.5964),
        ("RBP", "linear"): (0.1761, 0.2562, 1.5186, -1.1098),
        ("RBP", "exponential"): (0.1406, 1.5719, -1.3141, 0.4653),
        ("GAP", "linear"): (0.1209, 1.4456, -0.8938, 0.2014),
    },
    "binary-20": {
        ("P", "linear"): (0.1541, 0.1227, 0.0152, 0.5589),
        ("AP", "linear"): (0.1428, 0.4791, 0.4859, -0.3479),
        ("DCG", "linear"): (0.1742, -0.0972, 1.0231, -0.2768),
        ("RBP", "linear"): (0.1635, 0.0401, 0.6029, 0.0208),
    },
    "binary-40": {
        ("P", "linear"): (0.2352, -0.3261, 1.5421, -0.5807),
        ("AP", "linear"): (0.1659, 0.9044, -0.0926, -0.1725),
        ("DCG", "linear"): (0.2292, -0.1256, 1.4722, -0.7195),
        ("RBP", "linear"): (0.2291, -0.1532, 1.5484, -0.7779),
    },
}


def main() -> None:
    """Write the file."""
    mappings = [
        {"measure": str(user_oriented(measure, gain)), "scale": scale, "coefficients": coefficients}
        for scale, table in TABLE_4_3.items()
        for (measure, gain), coefficients in table.items()
    ]
    fields = {"format": 1, "source": SOURCE, "mappings": mappings}
    write_text(
        HERE / "satisfaction" / "published.json", [json.dumps(fields | {"checksum": checksum(fields)}, indent=1)]
    )


def user_oriented(name: str, gain: str) -> Measure:
    """The measure at cutoff 5 in the form of chapter 3: relative to the highest grade at every rank."""
    known = {parameter.name for parameter in MEASURES[name].parameters}
    wanted = (("gain", gain), ("ideal", "user"))
    return Measure(MEASURES[name], 5, tuple(pair for pair in wanted if pair[0] in known))


if __name__ == "__main__":
    main()
