import type { JsonObject } from "../../json.ts";
import { textsAt } from "../../members.ts";
import { requestIdentity, unauthorisedBearer } from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { refuseVoyage, VOYAGE_FAILURE } from "../voyage-error.ts";
import { rank, RANK_MEMBERS, rankTokens, readRank, type RankBatch } from "./rank.ts";

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

/** Whether a request for a ranking has Voyage's members. */
export function ranksAsVoyage(body: JsonObject): boolean {
  return Object.hasOwn(body, "top_k") || Object.hasOwn(body, "truncation");
}

interface VoyageRank extends RankBatch {
  readonly repeatsDocuments: boolean;
}

function read({ body }: Call): VoyageRank | Problem {
  const batch = readRank(body, textsAt(body, "documents"), "top_k");
  return "status" in batch ? batch : { ...batch, repeatsDocuments: body.return_documents === true };
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
