// The order of a batch: drawn by lot for each assessor, and the same on every device.

/** 32 bits of a text: FNV-1a, then mixed so that texts that end alike do not stand together. Needs no Web Crypto. */
export function lot(text) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Name of a pair on this page. */
export const nameOf = ({ query, document }) => JSON.stringify([query, document]);

/** Pairs in an assessor's order: candidates of one query together, queries and candidates by lot. */
export function inOrder(pairs, assessor) {
  const rank = (pair) => [lot(JSON.stringify([assessor, pair.query])), lot(JSON.stringify([assessor, pair.query, pair.document]))];
  const ranked = pairs.map((pair) => ({ pair, rank: rank(pair) }));
  ranked.sort((one, other) => one.rank[0] - other.rank[0] || one.rank[1] - other.rank[1]);
  return ranked.map(({ pair }) => pair);
}
