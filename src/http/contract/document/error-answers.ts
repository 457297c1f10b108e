import { TEXT, complete, described, listOf, titled } from "../../../canon/json/schema.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { oauthCode, oauthDescription, oauthStatus, OAUTH_CODES } from "../../send.ts";
import { familyOf, isTokenEndpoint, type Endpoint } from "../endpoint.ts";
import { DESCRIBED_ERRORS, type DescribedError } from "./error-rows.ts";
import { headersOf } from "./response-headers.ts";
import type { ProtocolFamily } from "../../../dialects/protocol-family.ts";
import { REVISION_PATTERN } from "../../../canon/policy.ts";
import { SERVICE_KEY } from "../key-schemas.ts";
import { MISSING_REQUIREMENT } from "../policy-answers.ts";

/** Everything that the endpoint can answer instead of a 200, by status. */
export function errorsOf(endpoint: Endpoint): ReadonlyMap<number, readonly DescribedError[]> {
  const found = new Map<number, DescribedError[]>();
  for (const row of DESCRIBED_ERRORS) {
    if (!row.isAnsweredBy(endpoint)) continue;
    const status = isOAuth(endpoint) ? oauthStatus(row.status) : row.status;
    const rows = found.get(status);
    if (rows === undefined) found.set(status, [row]);
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
    return Object.fromEntries(
      [...this.#answers.values()].map(({ name, answer }) => [name, answer]),
    );
  }

  /** The `responses` of an operation that are errors. */
  of(endpoint: Endpoint): Readonly<Record<string, JsonObject>> {
    return Object.fromEntries(
      [...errorsOf(endpoint)].map(([status, rows]) => [
        String(status),
        this.#refer(endpoint, status, rows),
      ]),
    );
  }

  #refer(endpoint: Endpoint, status: number, rows: readonly DescribedError[]): JsonObject {
    const headers = headersOf(endpoint, status);
    const key = JSON.stringify([
      schemaOf(endpoint, []),
      rows.map((row) => [row.code, row.when]),
      headers,
    ]);
    const existing = this.#answers.get(`${status} ${key}`);
    if (existing !== undefined) return { $ref: `#/components/responses/${existing.name}` };
    const count = (this.#counts.get(status) ?? 0) + 1;
    this.#counts.set(status, count);
    const name = count === 1 ? `Error${status}` : `Error${status}-${count}`;
    const schema = schemaOf(endpoint, rows);
    const examples = { error: { value: exampleOf(endpoint, rows) } };
    const answer = {
      description: describe(endpoint, rows),
      headers,
      content: { "application/json": { schema, examples } },
    };
    this.#answers.set(`${status} ${key}`, { name, answer });
    return { $ref: `#/components/responses/${name}` };
  }
}

/** As a list of Markdown: each code, and when it is answered. */
function describe(endpoint: Endpoint, rows: readonly DescribedError[]) {
  return rows
    .map((row) => {
      const { code, when } = row;
      if (typeof code !== "string") return `- such as \`${code.like}\`: ${when}`;
      if (!isOAuth(endpoint)) return `- \`${code}\`: ${when}`;
      const codes = oauthCodesOf(row).map((name) => `\`${name}\``);
      return `- ${codes.join(" or ")} (\`${code}\`): ${when}`;
    })
    .join("\n");
}

function isOAuth({ path }: Endpoint) {
  return isTokenEndpoint(path);
}

/** Codes that name a member of the body. */
const BODY_CODES: ReadonlySet<string> = new Set([
  "invalid_json",
  "invalid_body",
  "too_deeply_nested",
  "missing_field",
  "unknown_field",
  "invalid_type",
  "invalid_value",
]);

/**
 * Members of the body by which an error of one code is answered with one or the other code of
 * OAuth; `null`: all others.
 */
const TELLING_MEMBERS = [null, "grant_type", "scope", "audience"] as const;

/** The codes of OAuth that a row is answered with, by the member that the error names. */
function oauthCodesOf({ status, kind, code }: DescribedError): readonly string[] {
  if (typeof code !== "string")
    throw new Error("contract: a code that is not listed at the token endpoint");
  const members = BODY_CODES.has(code) ? TELLING_MEMBERS : [null];
  return [...new Set(members.map((param) => oauthCode({ status, kind, code, param })))];
}

function schemaOf(endpoint: Endpoint, rows: readonly DescribedError[]): JsonObject {
  if (isOAuth(endpoint)) {
    const error = { enum: [...new Set(rows.flatMap(oauthCodesOf))] };
    return { allOf: [OAUTH_ERROR, { properties: { error } }] };
  }
  const family = familyOf(endpoint.path);
  const type = { enum: [...new Set(rows.map(({ kind }) => family.errorTypes[kind]))] };
  return { allOf: [errorSchemaOf(family), family.narrowedError(type, codesOf(rows))] };
}

function codesOf(rows: readonly DescribedError[]): JsonObject {
  const codes = rows.map(({ code }) => code).filter((code) => typeof code === "string");
  const patterns = rows.map(({ code }) => code).filter((code) => typeof code !== "string");
  const codeSchema = { enum: codes };
  if (patterns.length === 0) return codeSchema;
  return {
    anyOf: [
      ...(codes.length === 0 ? [] : [codeSchema]),
      ...patterns.map(({ pattern }) => ({ pattern })),
    ],
  };
}

/** An answer as the runtime prints it; `message` is the row's sentence. */
function exampleOf(endpoint: Endpoint, [row]: readonly DescribedError[]): JsonObject {
  if (row === undefined) throw new Error("contract: a status without a row");
  const code = typeof row.code === "string" ? row.code : row.code.like;
  const { kind, when } = row;
  if (isOAuth(endpoint)) {
    const error_description = oauthDescription({ message: when, code }, EXAMPLE_ID);
    return { error: oauthCodesOf(row)[0], error_description };
  }
  return familyOf(endpoint.path).errorExample({ kind, code, message: when }, EXAMPLE_ID);
}

const EXAMPLE_ID = "req_0199d2a4f1c04b6a8f0e2d7c915b3a64";

/** Of `POST /v1/credentials/exchange`: RFC 6749 §5.2. */
const OAUTH_ERROR = titled(
  "OAuthError",
  complete({
    error: { enum: OAUTH_CODES, description: "Of RFC 6749 and RFC 8693; for programs." },
    error_description: {
      ...TEXT,
      pattern: "^[ !#-\\[\\]-~]+$",
      description:
        "One sentence for people, and in brackets the router's own code and the request id. It never repeats a value of the request.",
    },
  }),
);

/** Members that errors of control endpoints have beside those of their family. */
const FACTS = {
  fix: described(TEXT, "What resolves the error."),
  missing: listOf(MISSING_REQUIREMENT, "Requirements that a promotion does not meet."),
  current: complete(
    {
      etag: TEXT,
      candidate_revision: { type: ["string", "null"], pattern: REVISION_PATTERN },
      enforced_revision: { type: ["string", "null"], pattern: REVISION_PATTERN },
    },
    "The present state of the policy, if it differs from the state that the caller has read.",
  ),
  service_key: SERVICE_KEY,
} as const;

/** The schema of a family's errors. */
export function errorSchemaOf({ errorSchema }: ProtocolFamily): JsonObject {
  return errorSchema(FACTS);
}
