import { isJsonObject } from "../../json.ts";
import { textAt, objectAt } from "../../members.ts";
import {
  CHUNK_FAILURE,
  missingParameter,
  OPENAI_CODES,
  refuseOpenai,
  requestIdentity,
  unauthorisedBearer,
} from "../../openai/error.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Batch, type Rendered } from "../protocol.ts";
import { listResults } from "../results.ts";
import { renderOther } from "./other-categories.ts";
import { flagsOf, judge, scoresOf, type Judged, type Judgement } from "./verdict.ts";

/** OpenAI's moderations; with `categories=other` those of a provider that has other categories. */
export const openaiModerations: Protocol = unaryProtocol({
  results: ["categories", "short", "nan", "failOver", "poison"],
  reportsUsage: false,
  list: "input",
  most: 2_048,
  codes: OPENAI_CODES,
  unauthorised: unauthorisedBearer,
  refuse: refuseOpenai,
  failure: CHUNK_FAILURE,
  identity: requestIdentity,
  read,
  render: (batch, call) =>
    call.behaviour.categories === null ? render(batch, call) : renderOther(batch.judged, call),
});

interface ModerationBatch extends Batch {
  readonly judged: readonly Judged[];
}

/** OpenAI's categories, and the kinds of input that each is judged for. */
const CATEGORIES: readonly (readonly [category: string, ofImages: boolean])[] = [
  ["harassment", false],
  ["harassment/threatening", false],
  ["sexual", true],
  ["hate", false],
  ["hate/threatening", false],
  ["illicit", false],
  ["illicit/violent", false],
  ["self-harm/intent", true],
  ["self-harm/instructions", true],
  ["self-harm", true],
  ["sexual/minors", false],
  ["violence", true],
  ["violence/graphic", true],
];

/** Reads texts, which are judged each by itself, or parts, which are judged together. */
function read({ body }: Call): ModerationBatch | Problem {
  const { input } = body;
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  const texts = list.filter((item) => typeof item === "string");
  if (texts.length > 0)
    return { count: texts.length, texts, judged: texts.map((text) => ({ text, images: [] })) };
  const parts = list.filter(isJsonObject);
  if (parts.length === 0) return missingParameter("input");
  const said = parts.filter(({ type }) => type === "text").map((part) => textAt(part, "text"));
  const images = parts
    .filter(({ type }) => type !== "text")
    .map((part) => textAt(objectAt(part, "image_url"), "url"));
  const judged = [{ text: said.length === 0 ? null : said.join(" "), images }];
  return { count: 1, texts: [...said, ...images], judged };
}

function render(
  { judged }: ModerationBatch,
  { model, behaviour, sequence }: Call,
): Rendered | Problem {
  const listed = listResults(
    judged.map((item, index) => ({ index, item })),
    judged.length,
    behaviour,
  );
  if ("status" in listed) return listed;
  const results = listed.map(({ item }, position) =>
    verdict(item, behaviour.nan && position === 0),
  );
  return {
    body: {
      id: `modr-mock-${sequence}`,
      model: model === "" ? "omni-moderation-latest" : model,
      results,
    },
  };
}

function verdict({ text, images }: Judged, isBroken: boolean): object {
  const judged: (readonly [string, Judgement])[] = [];
  const kinds: Record<string, readonly string[]> = {};
  for (const [category, ofImages] of CATEGORIES) {
    const seen = ofImages ? images : [];
    const parts = text === null ? seen : [text, ...seen];
    kinds[category] = [...(text === null ? [] : ["text"]), ...(seen.length === 0 ? [] : ["image"])];
    // What no part of the input is judged in has the score 0.
    judged.push([
      category,
      parts.length === 0 ? { flagged: false, score: 0 } : judge(parts.join(" "), category),
    ]);
  }
  return {
    flagged: judged.some(([, { flagged }]) => flagged),
    categories: flagsOf(judged),
    category_scores: scoresOf(judged, isBroken),
    category_applied_input_types: kinds,
  };
}
