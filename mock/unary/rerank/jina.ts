import { isJsonObject } from "../../json.ts";
import {
  checkMembers,
  integer,
  isBoolean,
  isFilledText,
  isText,
  listAt,
  listOf,
  memberTable,
  numberOr,
  textAt,
} from "../../member-table.ts";
import {
  CHUNK_FAILURE,
  OPENAI_CODES,
  OPENAI_WORDING,
  refuseOpenai,
  requestIdentity,
  unauthorisedBearer,
} from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { rank, RANK_MEMBERS, rankBatch, rankTokens, type RankBatch } from "./rank.ts";

/** Rerank as Jina speaks it and most servers for open models do; errors are theirs, in OpenAI's shape. */
export const jinaRerank: Protocol = unaryProtocol({
  results: RANK_MEMBERS,
  reportsUsage: true,
  list: "documents",
  most: 10_000,
  codes: OPENAI_CODES,
  unauthorised: unauthorisedBearer,
  refuse: refuseOpenai,
  failure: CHUNK_FAILURE,
  identity: requestIdentity,
  read,
  render,
});

function isDocument(value: unknown): boolean {
  return isText(value) || (isJsonObject(value) && isText(value["text"]));
}

/** Every member of the request (Jina's reference, "Reranker API"). */
const MEMBERS = memberTable(
  ["model", "a string", isFilledText],
  ["query", "a string", isFilledText],
  ["documents", "a list of strings or of objects with a string 'text'", listOf(isDocument, 1)],
  ["top_n", "a positive integer", integer(1, 1e9)],
  ["return_documents", "true or false", isBoolean],
);

interface JinaBatch extends RankBatch {
  readonly repeatsDocuments: boolean;
}

function read({ body, behaviour }: Call): JinaBatch | Problem {
  const members = { table: MEMBERS, required: ["model", "query", "documents"], lenient: behaviour.lenient };
  const problem = checkMembers(body, members, OPENAI_WORDING);
  if (problem !== null) return problem;
  const documents = listAt(body, "documents").map((document) =>
    isJsonObject(document) ? textAt(document, "text") : String(document),
  );
  const batch = rankBatch(textAt(body, "query"), documents, numberOr(body["top_n"], null));
  // Documents come back unless they are declined.
  return { ...batch, repeatsDocuments: body["return_documents"] !== false };
}

function render(batch: JinaBatch, { model, behaviour }: Call): Rendered | Problem {
  const ranked = rank(batch, behaviour);
  if ("status" in ranked) return ranked;
  const results = ranked.map((result) => ({
    ...indexMember(result),
    relevance_score: result.item.score,
    ...(batch.repeatsDocuments ? { document: { text: result.item.document } } : {}),
  }));
  const tokens = rankTokens(batch);
  const usage = behaviour.noUsage ? {} : { usage: { total_tokens: tokens, prompt_tokens: tokens } };
  return { body: { model, ...usage, results } };
}
