import { wordingAt } from "../../bedrock-converse/error.ts";
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
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { rank, RANK_MEMBERS, rankBatch, type RankBatch } from "./rank.ts";

/** The rerank models of Cohere over Bedrock's InvokeModel. */
export const cohereRerankInvoked: Protocol = unaryProtocol({
  ...INVOKED,
  results: RANK_MEMBERS,
  reportsUsage: false,
  list: "documents",
  most: 1_000,
  read,
  render,
});

const MEMBERS = memberTable(
  ["query", "a filled string", isFilledText],
  ["documents", "a list of at least one string", listOf(isText, 1)],
  ["top_n", "a positive integer", integer(1, 1_000)],
  ["api_version", "2, the version of Cohere's protocol", integer(2, 2)],
);

function read({ body, behaviour }: Call): RankBatch | Problem {
  const members = { table: MEMBERS, required: ["query", "documents", "api_version"], lenient: behaviour.lenient };
  const problem = checkMembers(body, members, wordingAt(""));
  if (problem !== null) return problem;
  return rankBatch(textAt(body, "query"), textsAt(body, "documents"), numberOr(body["top_n"], null));
}

function render(batch: RankBatch, { behaviour }: Call): Rendered | Problem {
  const ranked = rank(batch, behaviour);
  if ("status" in ranked) return ranked;
  const results = ranked.map((result) => ({ ...indexMember(result), relevance_score: result.item.score }));
  return { body: { results } };
}
