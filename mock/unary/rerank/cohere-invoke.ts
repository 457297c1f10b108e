import { textsAt } from "../../members.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { rank, RANK_MEMBERS, readRank, type RankBatch } from "./rank.ts";

/** The rerank models of Cohere over Bedrock's InvokeModel. */
export const cohereRerankInvoked: Protocol = unaryProtocol({
  ...INVOKED,
  results: RANK_MEMBERS,
  reportsUsage: false,
  list: "documents",
  most: 1_000,
  read: ({ body }) => readRank(body, textsAt(body, "documents"), "top_n"),
  render,
});

function render(batch: RankBatch, { behaviour }: Call): Rendered | Problem {
  const ranked = rank(batch, behaviour);
  if ("status" in ranked) return ranked;
  const results = ranked.map((result) => ({
    ...indexMember(result),
    relevance_score: result.item.score,
  }));
  return { body: { results } };
}
