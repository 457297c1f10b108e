import type { JsonObject } from "../../../canon/json.ts";
import { ANTHROPIC_TYPES } from "../../../dialects/anthropic-errors.ts";
import { OPENAI_TYPES } from "../../../dialects/openai-errors.ts";
import { familyOf, type Endpoint } from "../endpoint.ts";
import { ERROR_ROWS, type ErrorRow } from "./error-rows.ts";
import { ANTHROPIC_ERROR, ERROR } from "./error-schemas.ts";
import { headersOf } from "./response-headers.ts";

/** Everything that the endpoint can answer instead of a 200, by status. */
export function errorsOf(endpoint: Endpoint): ReadonlyMap<number, readonly ErrorRow[]> {
  const found = new Map<number, ErrorRow[]>();
  for (const row of ERROR_ROWS) {
    if (!row.isAnsweredBy(endpoint)) continue;
    const rows = found.get(row.status);
    if (rows === undefined) found.set(row.status, [row]);
    else if (!rows.some(({ code }) => code === row.code)) rows.push(row);
  }
  return new Map([...found].toSorted(([left], [right]) => left - right));
}

/** Gathers answers that several endpoints have: each stands once in the document. */
export class ErrorAnswers {
  readonly #answers = new Map<string, { readonly name: string; readonly answer: JsonObject }>();
  /** How many different answers of a status there are so far. */
  readonly #counts = new Map<number, number>();

  /** By name, for `components`. */
  get responses(): JsonObject {
    return Object.fromEntries([...this.#answers.values()].map(({ name, answer }) => [name, answer]));
  }

  /** The `responses` of an operation that are errors. */
  of(endpoint: Endpoint): Readonly<Record<string, JsonObject>> {
    return Object.fromEntries(
      [...errorsOf(endpoint)].map(([status, rows]) => [String(status), this.#refer(endpoint, status, rows)]),
    );
  }

  #refer(endpoint: Endpoint, status: number, rows: readonly ErrorRow[]): JsonObject {
    const headers = headersOf(endpoint, status);
    const key = JSON.stringify([familyOf(endpoint.path), rows.map((row) => [row.code, row.when]), headers]);
    const known = this.#answers.get(`${status} ${key}`);
    if (known !== undefined) return { $ref: `#/components/responses/${known.name}` };
    const count = (this.#counts.get(status) ?? 0) + 1;
    this.#counts.set(status, count);
    const name = count === 1 ? `Error${status}` : `Error${status}-${count}`;
    const schema = schemaOf(endpoint, rows);
    const examples = { error: { value: exampleOf(endpoint, rows) } };
    const answer = { description: describe(rows), headers, content: { "application/json": { schema, examples } } };
    this.#answers.set(`${status} ${key}`, { name, answer });
    return { $ref: `#/components/responses/${name}` };
  }
}

/** As a list of Markdown: each code, and when it is answered. */
function describe(rows: readonly ErrorRow[]): string {
  return rows
    .map(({ code, when }) =>
      typeof code === "string" ? `- \`${code}\`: ${when}` : `- such as \`${code.like}\`: ${when}`,
    )
    .join("\n");
}

function schemaOf({ path }: Endpoint, rows: readonly ErrorRow[]): JsonObject {
  const isMessages = familyOf(path) === "messages";
  const words = isMessages ? ANTHROPIC_TYPES : OPENAI_TYPES;
  const type = { enum: [...new Set(rows.map(({ kind }) => words[kind]))] };
  const code = codesOf(rows);
  return isMessages
    ? {
        allOf: [
          ANTHROPIC_ERROR,
          { properties: { error: { properties: { type, details: { properties: { error_code: code } } } } } },
        ],
      }
    : { allOf: [ERROR, { properties: { error: { properties: { type, code } } } }] };
}

function codesOf(rows: readonly ErrorRow[]): JsonObject {
  const words = rows.map(({ code }) => code).filter((code) => typeof code === "string");
  const patterns = rows.map(({ code }) => code).filter((code) => typeof code !== "string");
  const listed = { enum: words };
  if (patterns.length === 0) return listed;
  return { anyOf: [...(words.length === 0 ? [] : [listed]), ...patterns.map(({ pattern }) => ({ pattern }))] };
}

/** An answer as the runtime prints it; `message` is the row's sentence. */
function exampleOf({ path }: Endpoint, [row]: readonly ErrorRow[]): JsonObject {
  if (row === undefined) throw new Error("contract: a status without a row");
  const code = typeof row.code === "string" ? row.code : row.code.like;
  const { kind, when } = row;
  if (familyOf(path) === "messages") {
    const error = { type: ANTHROPIC_TYPES[kind], message: when, details: { error_code: code } };
    return { type: "error", error, request_id: EXAMPLE_ID };
  }
  const message = `${when} (request id ${EXAMPLE_ID})`;
  return { error: { message, type: OPENAI_TYPES[kind], param: null, code } };
}

const EXAMPLE_ID = "req_0199d2a4f1c04b6a8f0e2d7c915b3a64";
