import type { JsonObject } from "../../json.ts";
import {
  checkMembers,
  integer,
  isBoolean,
  isFilledText,
  isText,
  listOf,
  memberTable,
  numberOr,
  textAt,
  textsAt,
} from "../../member-table.ts";
import { requestIdentity, unauthorisedBearer } from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { refuseVoyage, VOYAGE_FAILURE, VOYAGE_WORDING } from "../voyage-error.ts";
import { rank, RANK_MEMBERS, rankBatch, rankTokens, type RankBatch } from "./rank.ts";

/** Voyage's rerank. */
export const voyageRerank: Protocol = unaryProtocol({
  results: RANK_MEMBERS,
  reportsUsage: true,
  list: "documents",
  most: 1_000,
  codes: new Map(),
  unauthorised: unauthorisedBearer,
  refuse: refuseVoyage,
  failure: VOYAGE_FAILURE,
  identity: requestIdentity,
  read,
  render,
});

/** Whether a request for a ranking is one in Voyage's words. */
export function ranksAsVoyage(body: JsonObject): boolean {
  return Object.hasOwn(body, "top_k") || Object.hasOwn(body, "truncation");
}

/** Every member of the request (Voyage's reference, "Rerankers"). */
const MEMBERS = memberTable(
  ["model", "a string", isFilledText],
  ["query", "a string", isFilledText],
  ["documents", "a list of strings", listOf(isText, 1)],
  ["top_k", "a positive integer", integer(1, 1e9)],
  ["return_documents", "a boolean", isBoolean],
  ["truncation", "a boolean", isBoolean],
);

interface VoyageRank extends RankBatch {
  readonly repeatsDocuments: boolean;
}

function read({ body, behaviour }: Call): VoyageRank | Problem {
  const members = { table: MEMBERS, required: ["model", "query", "documents"], lenient: behaviour.lenient };
  const problem = checkMembers(body, members, VOYAGE_WORDING);
  if (problem !== null) return problem;
  const batch = rankBatch(textAt(body, "query"), textsAt(body, "documents"), numberOr(body["top_k"], null));
  return { ...batch, repeatsDocuments: body["return_documents"] === true };
}

function render(batch: VoyageRank, { model, behaviour }: Call): Rendered | Problem {
  const ranked = rank(batch, behaviour);
  if ("status" in ranked) return ranked;
  const data = ranked.map((result) => ({
    relevance_score: result.item.score,
    ...indexMember(result),
    ...(batch.repeatsDocuments ? { document: result.item.document } : {}),
  }));
  const usage = behaviour.noUsage ? {} : { usage: { total_tokens: rankTokens(batch) } };
  return { body: { object: "list", data, model, ...usage } };
}
