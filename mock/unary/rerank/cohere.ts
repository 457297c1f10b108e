import { COHERE_FAILURE, refuseCohere } from "../../cohere-chat/error.ts";
import { textsAt } from "../../members.ts";
import { unauthorisedBearer } from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { rank, RANK_MEMBERS, readRank, type RankBatch } from "./rank.ts";

/** Cohere's rerank, second version. */
export const cohereRerank: Protocol = unaryProtocol({
  results: RANK_MEMBERS,
  reportsUsage: true,
  list: "documents",
  most: 10_000,
  codes: new Map(),
  unauthorised: unauthorisedBearer,
  refuse: refuseCohere,
  failure: COHERE_FAILURE,
  identity: () => ({}),
  read: ({ body }) => readRank(body, textsAt(body, "documents"), "top_n"),
  render,
});

/** Documents that Cohere bills as one search. */
const DOCUMENTS_OF_A_SEARCH = 100;

function render(batch: RankBatch, { behaviour, sequence }: Call): Rendered | Problem {
  const ranked = rank(batch, behaviour);
  if ("status" in ranked) return ranked;
  const results = ranked.map((result) => ({
    ...indexMember(result),
    relevance_score: result.item.score,
  }));
  const version = { api_version: { version: "2" } };
  const searches = Math.ceil(batch.count / DOCUMENTS_OF_A_SEARCH);
  const meta = behaviour.noUsage
    ? version
    : { ...version, billed_units: { search_units: searches } };
  return { body: { id: `mock-${sequence}`, results, meta } };
}
