import { COHERE_FAILURE, COHERE_WORDING, refuseCohere } from "../../cohere-chat/error.ts";
import {
  checkMembers,
  integer,
  isFilledText,
  isText,
  listOf,
  memberTable,
  numberOr,
  textAt,
  textsAt,
} from "../../member-table.ts";
import { unauthorisedBearer } from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { rank, RANK_MEMBERS, rankBatch, type RankBatch } from "./rank.ts";

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
  read,
  render,
});

/** Every member of the request (Cohere's reference, "Rerank"). */
const MEMBERS = memberTable(
  ["model", "a filled text", isFilledText],
  ["query", "a filled text", isFilledText],
  ["documents", "a list of at least one text", listOf(isText, 1)],
  ["top_n", "a positive integer", integer(1, 1e9)],
  ["max_tokens_per_doc", "a positive integer", integer(1, 1e9)],
  ["priority", "an integer from 0 to 999", integer(0, 999)],
);

function read({ body, behaviour }: Call): RankBatch | Problem {
  const members = { table: MEMBERS, required: ["model", "query", "documents"], lenient: behaviour.lenient };
  const problem = checkMembers(body, members, COHERE_WORDING);
  if (problem !== null) return problem;
  return rankBatch(textAt(body, "query"), textsAt(body, "documents"), numberOr(body["top_n"], null));
}

/** Documents that Cohere bills as one search. */
const DOCUMENTS_OF_A_SEARCH = 100;

function render(batch: RankBatch, { behaviour, sequence }: Call): Rendered | Problem {
  const ranked = rank(batch, behaviour);
  if ("status" in ranked) return ranked;
  const results = ranked.map((result) => ({ ...indexMember(result), relevance_score: result.item.score }));
  const version = { api_version: { version: "2" } };
  const searches = Math.ceil(batch.count / DOCUMENTS_OF_A_SEARCH);
  const meta = behaviour.noUsage ? version : { ...version, billed_units: { search_units: searches } };
  return { body: { id: `mock-${sequence}`, results, meta } };
}
