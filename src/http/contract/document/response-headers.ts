import { ERROR_ANSWERS } from "../../../canon/error-codes.ts";
import type { ErrorAnswer } from "../../../canon/error.ts";
import { DROPPED_FIELDS, EDITS } from "../../../canon/generate/edit.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { COUNT, TEXT } from "../../../canon/json/schema.ts";
import { ANTHROPIC_FAMILY } from "../../../dialects/anthropic-messages/render.ts";
import { OPENAI_FAMILY } from "../../../dialects/openai-chat/family.ts";
import { DESCRIBED_ERRORS } from "./error-rows.ts";
import { isTokenEndpoint, acceptsTokens, type Endpoint } from "../endpoint.ts";

/** A header of answers. */
interface ResponseHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /**
   * `never`, or whether every answer of this status has it. @param status 200, or that of an error.
   */
  readonly presence: (endpoint: Endpoint, status: number) => "always" | "sometimes" | "never";
}

const isInference = ({ kind }: Endpoint): boolean => kind === "inference";

const always = (): "always" => "always";

/** On answers of calls of the endpoint; requests refused before that have none of them. */
const handled = (_: Endpoint, status: number): "always" | "sometimes" =>
  status === 200 ? "always" : "sometimes";

const where =
  (
    holds: (endpoint: Endpoint, status: number) => boolean,
    how: "always" | "sometimes" = "sometimes",
  ) =>
  (endpoint: Endpoint, status: number): "always" | "sometimes" | "never" =>
    holds(endpoint, status) ? how : "never";

/** Everything that `x-signalbox-edits` may list, with the meaning of each value. */
export const EDIT_VALUES: Readonly<Record<string, string>> = {
  ...EDITS,
  "stripped:<member>":
    "The member or header was taken out of the request: it identifies a user, the provider rejects it, or a policy removes it. `unknown_field` means members that the contract does not have, `thinking` for unsigned reasoning",
  ...DROPPED_FIELDS,
};

const EDIT = `(${[...Object.keys(EDITS), "stripped:[a-z][a-z_-]*", ...Object.keys(DROPPED_FIELDS)].join("|")})`;

/**
 * How each error of the endpoint with this status is answered; `undefined` for one that never
 * passes.
 */
function answersOf(endpoint: Endpoint, status: number): readonly (ErrorAnswer | undefined)[] {
  return DESCRIBED_ERRORS.filter((row) => row.status === status && row.isAnsweredBy(endpoint)).map(
    ({ code }) => (typeof code === "string" ? ERROR_ANSWERS.get(code) : undefined),
  );
}

/**
 * A failure of providers has the wait that the provider requests: in `retry-after`, or too long for
 * it.
 */
function hasRetryAfter(status: number): boolean {
  return status === 502 || status === 504;
}

/** Rate-limit headers of each family. */
const LIMITS: readonly ResponseHeader[] = (["requests", "tokens"] as const).flatMap((measure) =>
  [OPENAI_FAMILY, ANTHROPIC_FAMILY].flatMap((family) => {
    const presence = where(
      (endpoint) => endpoint.kind === "inference" && endpoint.surface.family === family,
    );
    return family.limitHeaderFacts(measure).map((facts) => ({ ...facts, presence }));
  }),
);

/** Every header that the router itself puts on answers, but those that describe the body. */
export const RESPONSE_HEADERS: readonly ResponseHeader[] = [
  {
    name: "x-request-id",
    description: "Identifies the request in the evidence and in the logs. Every answer has one.",
    schema: { ...TEXT, pattern: "^req_" },
    presence: always,
  },
  { name: "request-id", description: "The same as x-request-id.", schema: TEXT, presence: always },
  {
    name: "x-client-request-id",
    description: "The caller's own id of the request, if it sent one.",
    schema: { ...TEXT, pattern: "^[!-~]{1,128}$" },
    presence: () => "sometimes",
  },
  {
    name: "x-signalbox-decision",
    description: "Identifies the decision: the request id with another prefix.",
    schema: { ...TEXT, pattern: "^dec_" },
    presence: handled,
  },
  {
    name: "x-signalbox-table",
    description: "The first 12 digits of the digest of the routing table that decided.",
    schema: { ...TEXT, pattern: "^[0-9a-f]{12}$" },
    presence: handled,
  },
  {
    name: "x-signalbox-attempts",
    description: "Number of provider calls that were made for it.",
    schema: COUNT,
    presence: handled,
  },
  {
    name: "server-timing",
    description: "Milliseconds that the router itself took.",
    schema: { ...TEXT, pattern: "^router;dur=" },
    presence: handled,
  },
  {
    name: "x-signalbox-route",
    description:
      "The route, and the endpoint, provider and region that answered: a list if several endpoints answered parts of a batch.",
    schema: TEXT,
    presence: (endpoint, status) => (isInference(endpoint) ? handled(endpoint, status) : "never"),
  },
  {
    name: "x-signalbox-edits",
    description: [
      "Changes that the router made between the caller and the provider that answered, as a comma-separated list; absent if it made none.",
      "For a stream, the changes known when it began; the evidence has the rest. The values:",
      ...Object.entries(EDIT_VALUES).map(([value, meaning]) => `\n- \`${value}\`: ${meaning}.`),
    ].join(" "),
    schema: { ...TEXT, pattern: `^${EDIT}(, ${EDIT})*$` },
    presence: where((endpoint, status) => isInference(endpoint) && status === 200),
  },
  {
    name: "x-signalbox-simulated",
    description: "`true`: the built-in simulated upstream answered instead of a provider.",
    schema: { const: "true" },
    presence: where((endpoint, status) => isInference(endpoint) && status === 200),
  },
  ...LIMITS,
  {
    name: "x-should-retry",
    description: "`false`: the same request would fail again. Official clients then do not retry.",
    schema: { const: "false" },
    presence: (endpoint, status) => {
      const answers = answersOf(endpoint, status);
      if (answers.every((answer) => answer?.retryable !== true))
        return answers.length === 0 ? "never" : "always";
      return hasRetryAfter(status) || answers.some((answer) => answer?.retryable !== true)
        ? "sometimes"
        : "never";
    },
  },
  {
    name: "retry-after",
    description: "Seconds to wait before a retry.",
    schema: COUNT,
    presence: where(
      (endpoint, status) =>
        hasRetryAfter(status) ||
        answersOf(endpoint, status).some((answer) => (answer?.retryAfter ?? null) !== null),
    ),
  },
  {
    name: "www-authenticate",
    description: "How to authenticate.",
    schema: { const: "Bearer" },
    presence: where((_, status) => status === 401, "always"),
  },
  {
    name: "etag",
    description: "Identifies the state that the answer shows, for If-Match.",
    schema: TEXT,
    presence: where(
      ({ hasEntityTag }, status) => hasEntityTag === true && status === 200,
      "always",
    ),
  },
  {
    name: "cache-control",
    description: "`no-store`: no proxy or cache may keep the answer. `no-cache`: it is a stream.",
    schema: { enum: ["no-store", "no-cache"] },
    presence: ({ path, isNeverStored, stream }, status) => {
      if (status !== 200) return isTokenEndpoint(path) ? "always" : "never";
      if (isNeverStored === true) return "always";
      return stream === undefined ? "never" : "sometimes";
    },
  },
  {
    name: "pragma",
    description: "The same for HTTP/1.0 caches.",
    schema: { const: "no-cache" },
    presence: where(({ path }) => isTokenEndpoint(path), "always"),
  },
  {
    name: "vary",
    description: "A cache must not give one web origin's answer to another.",
    schema: { const: "origin" },
    presence: where(acceptsTokens),
  },
  {
    name: "access-control-allow-origin",
    description: "The page's origin, if a key may be exchanged for tokens that are bound to it.",
    schema: TEXT,
    presence: where(acceptsTokens),
  },
  {
    name: "access-control-expose-headers",
    description: "Headers that such a page may read.",
    schema: TEXT,
    presence: where(acceptsTokens),
  },
];

/** Headers of the answers of one status: how OpenAPI refers to those described in `components`. */
export function headersOf(
  endpoint: Endpoint,
  status: number,
): Readonly<Record<string, JsonObject>> {
  const present = RESPONSE_HEADERS.filter(({ presence }) => presence(endpoint, status) !== "never");
  return Object.fromEntries(
    present.map(({ name, presence }) => {
      const suffix = presence(endpoint, status) === "always" ? "-always" : "";
      return [name, { $ref: `#/components/headers/${name}${suffix}` }];
    }),
  );
}

/** The components that {@link headersOf} refers to. */
export function headerComponents(
  endpoints: readonly Endpoint[],
  statuses: readonly number[],
): JsonObject {
  const components: Record<string, JsonObject> = {};
  for (const { name, description, schema, presence } of RESPONSE_HEADERS) {
    const ways = new Set(
      endpoints.flatMap((endpoint) => statuses.map((status) => presence(endpoint, status))),
    );
    if (ways.has("always")) components[`${name}-always`] = { description, required: true, schema };
    if (ways.has("sometimes")) components[name] = { description, schema };
  }
  return components;
}
