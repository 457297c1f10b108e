import { isJsonObject } from "../../json.ts";
import { listAt, textAt } from "../../members.ts";
import {
  CHUNK_FAILURE,
  OPENAI_CODES,
  refuseOpenai,
  requestIdentity,
  unauthorisedBearer,
} from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { rank, RANK_MEMBERS, rankTokens, readRank, type RankBatch } from "./rank.ts";

/**
 * Rerank as Jina speaks it and most servers for open models do; errors are theirs, in OpenAI's
 * shape.
 */
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

interface JinaBatch extends RankBatch {
  readonly repeatsDocuments: boolean;
}

function read({ body }: Call): JinaBatch | Problem {
  const documents = listAt(body, "documents").map((document) =>
    isJsonObject(document) ? textAt(document, "text") : String(document),
  );
  const batch = readRank(body, documents, "top_n");
  // Documents come back unless they are declined.
  return "status" in batch
    ? batch
    : { ...batch, repeatsDocuments: body.return_documents !== false };
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
