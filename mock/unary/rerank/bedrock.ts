import type { JsonObject } from "../../json.ts";
import { limitAt, objectAt, objectsAt, textAt } from "../../members.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { rank, RANK_MEMBERS, rankBatch, type RankBatch } from "./rank.ts";

/** Rerank of Bedrock's agent runtime. The model is named by its ARN, deep in the body. */
export const bedrockRerank: Protocol = unaryProtocol({
  ...INVOKED,
  modelIn: (_target, body) =>
    textAt(objectAt(configurationOf(body), "modelConfiguration"), "modelArn"),
  results: RANK_MEMBERS,
  reportsUsage: false,
  list: "sources",
  most: 1_000,
  read,
  render,
});

function read({ body }: Call): RankBatch | Problem {
  const documents = objectsAt(body, "sources").map((source) =>
    textAt(objectAt(objectAt(source, "inlineDocumentSource"), "textDocument"), "text"),
  );
  const [query = {}] = objectsAt(body, "queries");
  if (documents.length === 0) return invalid("sources", "Member must not be null");
  return rankBatch(
    textAt(objectAt(query, "textQuery"), "text"),
    documents,
    limitAt(configurationOf(body), "numberOfResults"),
  );
}

function configurationOf(body: JsonObject): JsonObject {
  return objectAt(objectAt(body, "rerankingConfiguration"), "bedrockRerankingConfiguration");
}

function render(batch: RankBatch, { behaviour }: Call): Rendered | Problem {
  const ranked = rank(batch, behaviour);
  if ("status" in ranked) return ranked;
  const results = ranked.map((result) => ({
    ...indexMember(result),
    relevanceScore: result.item.score,
  }));
  return { body: { results } };
}
