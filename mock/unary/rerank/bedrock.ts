import { isJsonObject, type JsonObject } from "../../json.ts";
import { wordingAt } from "../../bedrock-converse/error.ts";
import {
  checkMembers,
  integer,
  isFilledText,
  isObject,
  isText,
  listAt,
  listOf,
  memberTable,
  numberOr,
  oneOf,
  textAt,
} from "../../member-table.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { INVOKED } from "../bedrock-invoke.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { indexMember } from "../results.ts";
import { rank, RANK_MEMBERS, rankBatch, type RankBatch } from "./rank.ts";

/** Rerank of Bedrock's agent runtime. The model is named by its ARN, deep in the body. */
export const bedrockRerank: Protocol = unaryProtocol({
  ...INVOKED,
  modelIn: (_target, body) => textAt(modelOf(configurationOf(body)), "modelArn"),
  results: RANK_MEMBERS,
  reportsUsage: false,
  list: "sources",
  most: 1_000,
  read,
  render,
});

/** Every member (Bedrock's reference, "Rerank"). */
const BODY = memberTable(
  ["queries", "a list of one query", listOf(isObject, 1, 1)],
  ["sources", "a list of at least one source", listOf(isObject, 1)],
  ["rerankingConfiguration", "an object", isObject],
);

const CONFIGURATION = memberTable(
  ["type", "BEDROCK_RERANKING_MODEL", oneOf("BEDROCK_RERANKING_MODEL")],
  ["bedrockRerankingConfiguration", "an object", isObject],
);

const BEDROCK_CONFIGURATION = memberTable(
  ["modelConfiguration", "an object", isObject],
  ["numberOfResults", "an integer from 1 to 1000", integer(1, 1_000)],
);

const MODEL = memberTable([
  "modelArn",
  "the ARN of a model",
  (value) => isText(value) && /^arn:aws[a-z-]*:bedrock:/.test(String(value)),
]);

const QUERY = memberTable(["type", "TEXT", oneOf("TEXT")], ["textQuery", "an object", isObject]);

const SOURCE = memberTable(["type", "INLINE", oneOf("INLINE")], ["inlineDocumentSource", "an object", isObject]);

const DOCUMENT = memberTable(["type", "TEXT", oneOf("TEXT")], ["textDocument", "an object", isObject]);

const TEXT = memberTable(["text", "a filled string", isFilledText]);

function read({ body, behaviour }: Call): RankBatch | Problem {
  const { lenient } = behaviour;
  // Every member of every table but one is required.
  const check = (value: JsonObject, table: typeof BODY, path: string): Problem | null => {
    const required = [...table.keys()].filter((name) => name !== "numberOfResults");
    return checkMembers(value, { table, required, lenient }, wordingAt(path));
  };
  const configuration = configurationOf(body);
  const path = "rerankingConfiguration.bedrockRerankingConfiguration";
  const [query] = listAt(body, "queries").map(objectOf);
  const problem =
    check(body, BODY, "") ??
    check(objectOf(body["rerankingConfiguration"]), CONFIGURATION, "rerankingConfiguration") ??
    check(configuration, BEDROCK_CONFIGURATION, path) ??
    check(modelOf(configuration), MODEL, `${path}.modelConfiguration`) ??
    check(objectOf(query), QUERY, "queries[0]") ??
    check(objectOf(query?.["textQuery"]), TEXT, "queries[0].textQuery");
  if (problem !== null) return problem;
  const documents: string[] = [];
  for (const [place, source] of listAt(body, "sources").map(objectOf).entries()) {
    const inline = objectOf(source["inlineDocumentSource"]);
    const text = objectOf(inline["textDocument"]);
    const at = `sources[${place}]`;
    const wrong =
      check(source, SOURCE, at) ??
      check(inline, DOCUMENT, `${at}.inlineDocumentSource`) ??
      check(text, TEXT, `${at}.inlineDocumentSource.textDocument`);
    if (wrong !== null) return wrong;
    documents.push(textAt(text, "text"));
  }
  const top = numberOr(configuration["numberOfResults"], null);
  return rankBatch(textAt(objectOf(query?.["textQuery"]), "text"), documents, top);
}

/** An object, empty in the place of anything else: the check of the member that holds it comes first. */
function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function configurationOf(body: JsonObject): JsonObject {
  return objectOf(objectOf(body["rerankingConfiguration"])["bedrockRerankingConfiguration"]);
}

function modelOf(configuration: JsonObject): JsonObject {
  return objectOf(configuration["modelConfiguration"]);
}

function render(batch: RankBatch, { behaviour }: Call): Rendered | Problem {
  const ranked = rank(batch, behaviour);
  if ("status" in ranked) return ranked;
  const results = ranked.map((result) => ({ ...indexMember(result), relevanceScore: result.item.score }));
  return { body: { results } };
}
