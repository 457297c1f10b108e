import { isJsonObject, type JsonObject } from "../../json.ts";
import { checkMembers, isFilledText, isTextOrList, memberTable, textAt } from "../../member-table.ts";
import {
  CHUNK_FAILURE,
  OPENAI_CODES,
  OPENAI_WORDING,
  refuseOpenai,
  requestIdentity,
  unauthorisedBearer,
} from "../../openai/error.ts";
import { invalid, type Problem } from "../../problem.ts";
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
  render: (batch, call) => (call.behaviour.categories === null ? render(batch, call) : renderOther(batch.judged, call)),
});

interface ModerationBatch extends Batch {
  readonly judged: readonly Judged[];
}

/** Every member of the request (OpenAI's reference, `CreateModerationRequest`). */
const MEMBERS = memberTable(
  ["model", "a string", isFilledText],
  ["input", "a string, a list of strings, or a list of parts", isTextOrList],
);

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

function read({ body, behaviour }: Call): ModerationBatch | Problem {
  const members = { table: MEMBERS, required: ["input"], lenient: behaviour.lenient };
  const problem = checkMembers(body, members, OPENAI_WORDING);
  if (problem !== null) return problem;
  const { input } = body;
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  const texts = list.filter((item) => typeof item === "string").map(String);
  if (texts.length > 0 && texts.length === list.length)
    return { count: texts.length, texts, judged: texts.map((text) => ({ text, images: [] })) };
  return readParts(list);
}

function readParts(list: readonly unknown[]): ModerationBatch | Problem {
  if (list.length === 0) return invalid("input", "'input' must not be empty.", "invalid_type");
  const texts: string[] = [];
  const images: string[] = [];
  for (const [place, part] of list.entries()) {
    const path = `input[${place}]`;
    if (!isJsonObject(part)) return OPENAI_WORDING.wrong(path, "of the kind of the others, a string or a part");
    const problem = readPart(part, path, texts, images);
    if (problem !== null) return problem;
  }
  const judged = [{ text: texts.length === 0 ? null : texts.join(" "), images }];
  return { count: 1, texts: [...texts, ...images], judged };
}

/** Adds a part to what is judged. */
function readPart(part: JsonObject, path: string, texts: string[], images: string[]): Problem | null {
  const { type, ...rest } = part;
  const [name, ...more] = Object.keys(rest);
  const image = part["image_url"];
  if (more.length > 0 || name !== type) return OPENAI_WORDING.wrong(path, "a part of type 'text' or 'image_url'");
  if (type === "text" && typeof part["text"] === "string") texts.push(part["text"]);
  else if (isJsonObject(image) && isFilledText(image["url"])) images.push(textAt(image, "url"));
  else return OPENAI_WORDING.wrong(path, "a part with its 'text', or with its 'image_url' and that with its 'url'");
  return null;
}

function render({ judged }: ModerationBatch, { model, behaviour, sequence }: Call): Rendered | Problem {
  const listed = listResults(
    judged.map((item, index) => ({ index, item })),
    judged.length,
    behaviour,
  );
  if ("status" in listed) return listed;
  const results = listed.map(({ item }, place) => verdict(item, behaviour.nan && place === 0));
  return { body: { id: `modr-mock-${sequence}`, model: model === "" ? "omni-moderation-latest" : model, results } };
}

function verdict({ text, images }: Judged, isBroken: boolean): object {
  const judged: (readonly [string, Judgement])[] = [];
  const kinds: Record<string, readonly string[]> = {};
  for (const [category, ofImages] of CATEGORIES) {
    const seen = ofImages ? images : [];
    const parts = text === null ? seen : [text, ...seen];
    kinds[category] = [...(text === null ? [] : ["text"]), ...(seen.length === 0 ? [] : ["image"])];
    // What no part of the input is judged in has the score 0.
    judged.push([category, parts.length === 0 ? { flagged: false, score: 0 } : judge(parts.join(" "), category)]);
  }
  return {
    flagged: judged.some(([, { flagged }]) => flagged),
    categories: flagsOf(judged),
    category_scores: scoresOf(judged, isBroken),
    category_applied_input_types: kinds,
  };
}
