// The order of a batch: random for each assessor, and the same on every device.

/** 32-bit hash of a text: FNV-1a, then mixed so that texts with the same ending are spread. Needs no Web Crypto. */
export function lot(text) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Name of a pair or comparison on this page; that of a comparison is the same in either order. */
export const nameOf = ({ query, document, document_a = document, document_b = null }) => JSON.stringify([query, ...[document_a, document_b].filter((one) => one !== null).toSorted()]);

/** Pairs in an assessor's order: candidates of a query stay together; queries and candidates are shuffled. */
export function inOrder(pairs, assessor) {
  const rank = (pair) => [lot(JSON.stringify([assessor, pair.query])), lot(JSON.stringify([assessor, pair.query, pair.document]))];
  const ranked = pairs.map((pair) => ({ pair, rank: rank(pair) }));
  ranked.sort((one, other) => one.rank[0] - other.rank[0] || one.rank[1] - other.rank[1]);
  return ranked.map(({ pair }) => pair);
}
