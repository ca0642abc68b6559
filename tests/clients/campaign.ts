// A whole campaign, by a client whose types were generated from /openapi.json with openapi-typescript.
// deno run --check campaign.ts URL TOKEN COLLECTION

import createClient from "openapi-fetch";
import type { components, paths } from "./audiosim.d.ts";

const [url, token, collection] = Deno.args as [string, string, string];
const service = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
const there = { params: { path: { collection } } };
const problems: string[] = [];

/** The value of an answer; a refusal ends the program with the service's words. */
function value<T>(answer: { data?: T; error?: components["schemas"]["ProblemOut"] }): T {
  if (answer.error !== undefined || answer.data === undefined) throw new Error(answer.error?.detail);
  return answer.data;
}

const runs = {
  near: { q1: ["a2", "b2", "c1"], q2: ["d2", "e1", "f2"] },
  far: { q1: ["c1", "g0", "h0"], q2: ["i0", "e1", "j0"] },
};
const settings = { title: "Two systems", measure: "CG@3", stopping_rule: "judgments=10" };
const tables = { name: collection, runs, scale: "0-2", cutoff: 3, settings };
value(await service.POST("/v1/collections", { body: tables }));
const again = await service.POST("/v1/collections", { body: tables });
problems.push(again.error?.detail ?? "");
value(await service.POST("/v1/collections/{collection}/resume", { ...there, body: {} }));

for (;;) {
  const next = value(
    await service.POST("/v1/collections/{collection}/next", { ...there, body: { assessor: "ann", count: 4 } }),
  );
  if (next.pairs.length === 0) break;
  for (const { query, document } of next.pairs) {
    const body = { query, document, assessor: "ann", grade: Number(document.slice(-1)), seconds: 2 };
    value(await service.POST("/v1/collections/{collection}/judgments", { ...there, body }));
  }
}
const wrong = { query: "q1", document: "a2", assessor: "ann", grade: 7 };
const refused = await service.POST("/v1/collections/{collection}/judgments", { ...there, body: wrong });
problems.push(refused.error?.detail ?? "");

const campaign = value(await service.GET("/v1/collections/{collection}/campaign", there));
const ranking = value(await service.GET("/v1/collections/{collection}/ranking", there));
const exported = await service.GET("/v1/collections/{collection}/judgments", {
  params: { path: { collection }, query: { format: "csv" } },
  parseAs: "text",
});
value(await service.POST("/v1/collections/{collection}/close", { ...there, body: { reason: "done" } }));
const { number } = value(
  await service.POST("/v1/collections/{collection}/publications", { ...there, body: { authors: ["Ann Smith"] } }),
);
const place = { collection, number };
const page = await service.GET("/published/{collection}/{number}/{name}", {
  params: { path: { ...place, name: "index.html" } },
  parseAs: "text",
});
const record = await service.GET("/published/{collection}/{number}/{name}", {
  params: { path: { ...place, name: "record.json" } },
  parseAs: "text",
});
const bundle = await service.GET("/v1/collections/{collection}/report", { ...there, parseAs: "arrayBuffer" });
const systems = JSON.parse(record.data ?? "").systems as { system: string }[];

console.log(JSON.stringify({
  problems,
  status: campaign.status,
  reached: campaign.goal.reached,
  judged: ranking.judged,
  scores: Object.fromEntries(ranking.systems.map((one) => [one.system, one.expectation])),
  exported: exported.data?.trim().split("\n").length,
  page: page.data?.includes("Two systems"),
  published: systems.map((one) => one.system),
  bundle: new TextDecoder().decode(bundle.data?.slice(0, 2)),
}));
