import { isJsonObject, type JsonObject } from "../json.ts";
import {
  checkMembers,
  isFilledText,
  isList,
  isObject,
  isText,
  memberTable,
  oneOf,
  type MemberTable,
} from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { unsupported, wordingAt } from "./wording.ts";

const TYPE = ["type", "a string", isText] as const;
const BREAKPOINT = ["prompt_cache_breakpoint", "an object", isObject] as const;

interface Kind {
  readonly table: MemberTable;
  readonly required: readonly string[];
  /** One of them has to be there. */
  readonly sources: readonly string[];
}

const TEXT: Kind = {
  table: memberTable(TYPE, BREAKPOINT, ["text", "a string", isText]),
  required: ["text"],
  sources: [],
};

const ATTACHMENTS: readonly (readonly [string, Kind])[] = [
  [
    "input_image",
    {
      table: memberTable(
        TYPE,
        BREAKPOINT,
        ["detail", "auto, low, high or original", oneOf("auto", "low", "high", "original")],
        ["image_url", "an address", isFilledText],
        ["file_id", "a string", isFilledText],
      ),
      required: [],
      sources: ["image_url", "file_id"],
    },
  ],
  [
    "input_file",
    {
      table: memberTable(
        TYPE,
        BREAKPOINT,
        ["detail", "auto, low or high", oneOf("auto", "low", "high")],
        ["file_data", "a data address", isFilledText],
        ["file_id", "a string", isFilledText],
        ["file_url", "an address", isFilledText],
        ["filename", "a string", isText],
      ),
      required: [],
      sources: ["file_data", "file_id", "file_url"],
    },
  ],
];

/** Parts of what the caller says, and of the results of its tools. */
export const INPUT_PARTS: ReadonlyMap<string, Kind> = new Map([["input_text", TEXT], ...ATTACHMENTS]);

/** Parts of what the model has said. */
export const OUTPUT_PARTS: ReadonlyMap<string, Kind> = new Map([
  [
    "output_text",
    {
      table: memberTable(
        TYPE,
        ["text", "a string", isText],
        ["annotations", "a list", isList],
        ["logprobs", "a list", isList],
      ),
      required: ["text"],
      sources: [],
    },
  ],
  ["refusal", { table: memberTable(TYPE, ["refusal", "a string", isText]), required: ["refusal"], sources: [] }],
]);

/** Tokens counted for an image or a file. */
const TOKENS_PER_ATTACHMENT = 100;

/** Checks content, a text or parts, and estimates its tokens. */
export function readContent(
  content: unknown,
  kinds: ReadonlyMap<string, Kind>,
  path: string,
): { readonly tokens: number } | Problem {
  if (typeof content === "string") return { tokens: Math.ceil(content.length / 4) };
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  let tokens = 0;
  for (const [index, part] of parts.entries()) {
    const problem = checkPart(part, kinds, `${path}[${index}]`);
    if (problem !== null) return problem;
    if (isJsonObject(part)) tokens += tokensOf(part);
  }
  return { tokens };
}

function checkPart(part: unknown, kinds: ReadonlyMap<string, Kind>, at: string): Problem | null {
  const type = isJsonObject(part) && typeof part["type"] === "string" ? part["type"] : "";
  const kind = kinds.get(type);
  if (!isJsonObject(part) || kind === undefined) return unsupported(`${at}.type`, kinds.keys());
  const problem = checkMembers(part, { ...kind, lenient: false }, wordingAt(at));
  if (problem !== null) return problem;
  return kind.sources.length === 0 || kind.sources.some((name) => (part[name] ?? null) !== null)
    ? null
    : invalid(at, `One of ${kind.sources.map((name) => `'${name}'`).join(", ")} is required at '${at}'.`);
}

function tokensOf(part: JsonObject): number {
  const text = part["text"] ?? part["refusal"];
  return typeof text === "string" ? Math.ceil(text.length / 4) : TOKENS_PER_ATTACHMENT;
}
