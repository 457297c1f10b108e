import { TEXT } from "../../canon/json/schema.ts";
import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { SCOPES } from "../../canon/identity.ts";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../canon/json.ts";
import { type EventStream, publishedSchema, titleOf } from "../../dialects/contract-schemas.ts";
import { DESCRIBED_ERRORS } from "./document/error-rows.ts";
import { ErrorAnswers } from "./document/error-answers.ts";
import { REQUEST_HEADERS } from "./document/request-headers.ts";
import { headerComponents, headersOf } from "./document/response-headers.ts";
import { type Endpoint, TAGS, acceptsTokens } from "./endpoint.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { COMPONENT_SCHEMAS } from "../validate-body.ts";
import { INFERENCE_ENDPOINTS } from "./inference-endpoints.ts";

/**
 * One endpoint as OpenAPI describes it; schemas stand whole. @param errors gathers its answers
 * other than 200.
 */
function operationOf(endpoint: Endpoint, errors: ErrorAnswers): JsonObject {
  const example = EXAMPLES[endpoint.id] ?? NO_EXAMPLE;
  return {
    operationId: endpoint.id,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    security: securityOf(endpoint),
    parameters: parametersOf(endpoint),
    ...(endpoint.body !== null && {
      requestBody: requestBody(endpoint, publishedSchema(endpoint.body), example),
    }),
    responses: {
      "200": {
        description: "In the requested form.",
        headers: headersOf(endpoint, 200),
        content: { ...wholeAnswer(endpoint, example), ...streamedAnswer(endpoint, example) },
      },
      ...errors.of(endpoint),
    },
    // As simulations, exchanged tokens and policies name it.
    ...(endpoint.kind === "inference" && { "x-signalbox-operation": endpoint.operation }),
    ...(endpoint.listener === "admin" && { servers: ADMIN_SERVERS }),
  };
}

function requestBody(
  endpoint: Endpoint,
  schema: JsonObject,
  { requests = {} }: EndpointExample,
): JsonObject {
  const description =
    endpoint.uniqueMembers === true
      ? "A JSON object that names a member twice is refused."
      : "If a member occurs twice, the last one counts.";
  return {
    required: endpoint.isBodyOptional !== true,
    description,
    content: {
      "application/json": { schema, ...examples(requests) },
      ...(endpoint.acceptsForm === true && { "application/x-www-form-urlencoded": { schema } }),
    },
  };
}

function wholeAnswer(
  { answer, answerType = "application/json", otherAnswerType }: Endpoint,
  example: EndpointExample,
): JsonObject {
  const shown = example.answer === undefined ? {} : { whole: example.answer };
  const whole = { [answerType]: { schema: answer, ...examples(shown) } };
  return otherAnswerType === undefined ? whole : { ...whole, [otherAnswerType]: { schema: TEXT } };
}

/**
 * In OpenAPI 3.1 the schema is that of each event: docs/decisions/0021-events-in-the-contract.md.
 */
function streamedAnswer({ stream }: Endpoint, example: EndpointExample): JsonObject {
  if (stream === undefined) return {};
  return {
    "text/event-stream": {
      schema: serverSentEvent(stream),
      ...examples(eventExamples(example.stream ?? "")),
    },
  };
}

function examples(values: Readonly<Record<string, JsonObject | string>>): JsonObject {
  const rows = Object.entries(values);
  if (rows.length === 0) return {};
  return { examples: Object.fromEntries(rows.map(([name, value]) => [name, { value }])) };
}

const NO_EXAMPLE: EndpointExample = {};

const ADMIN_SERVERS: readonly JsonObject[] = [
  {
    url: "http://{host}:{port}",
    description:
      "The admin listener (--admin-host, --admin-port). It requires no key: do not expose it to other networks.",
    variables: { host: { default: "127.0.0.1" }, port: { default: "8081" } },
  },
];

/** Optional request headers. */
export function parametersOf(endpoint: Endpoint): readonly JsonObject[] {
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: `${OWN_NAMES[name] ?? PATH_NAMES[endpoint.tag] ?? "Its id"}, with % escapes for characters that have a meaning in a path.`,
    schema: { type: "string", minLength: 1 },
  }));
  const inQuery = (
    schemas: Readonly<Record<string, JsonObject>>,
    required: boolean,
  ): readonly JsonObject[] =>
    Object.entries(schemas).map(([name, { description, ...schema }]) => ({
      name,
      in: "query",
      required,
      description,
      // Several times by its name; `group_by` may have commas too.
      ...(schema.type === "array" && { style: "form", explode: true }),
      schema,
    }));
  const inHeaders = REQUEST_HEADERS.filter(({ isReadBy }) => isReadBy(endpoint)).map(
    ({ name, description, schema, isRequiredBy }) => ({
      name,
      in: "header",
      required: isRequiredBy?.(endpoint) === true,
      description,
      schema,
    }),
  );
  const { query, optionalQuery = {} } = endpoint;
  return [...inPath, ...inQuery(query, true), ...inQuery(optionalQuery, false), ...inHeaders];
}

const OWN_NAMES: Readonly<Record<string, string>> = {
  workspace: "The workspace's id",
  name: "The key's name: 1 to 63 lower-case letters, digits, dots or dashes",
};

const PATH_NAMES: Readonly<Partial<Record<Endpoint["tag"], string>>> = {
  Models: "The route's name",
  "Service keys": "The key's public id",
  Policies: "The policy's id",
};

/**
 * The schema of one server-sent event of a stream, with the fields that the WHATWG's HTML standard
 * gives it. It is modelled as OpenAPI 3.2 does for `itemSchema`: `data` is a string, and
 * `contentSchema` describes the JSON in it.
 */
function serverSentEvent({ events, hasEventNames, hasDoneEvent, ends }: EventStream): JsonObject {
  const json: JsonObject = {
    type: "string",
    contentMediaType: "application/json",
    contentSchema: events,
  };
  return {
    title: `ServerSent${titleOf(events)}`,
    description: `One event of the stream. The answer is complete if the stream ends with: ${ends}`,
    type: "object",
    required: hasEventNames && !hasDoneEvent ? ["event", "data"] : ["data"],
    properties: {
      event: {
        type: "string",
        description: hasEventNames
          ? "The event's name: `type` of its data. Only `[DONE]` has none."
          : "Events of this stream have no name.",
      },
      data: hasDoneEvent
        ? { anyOf: [{ const: DONE_DATA, description: "The last event." }, json] }
        : json,
    },
  };
}

/** Data of the last event in OpenAI's protocols; it is not JSON. */
const DONE_DATA = "[DONE]";

/**
 * Events of a recorded stream as examples by name: the first of each name; of a stream without
 * names the first and the last.
 */
function eventExamples(stream: string): Readonly<Record<string, JsonObject>> {
  const shown: Record<string, JsonObject> = {};
  for (const event of stream.split("\n\n")) {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    const name = /^event: (.*)$/m.exec(event)?.[1];
    if (data === undefined) continue;
    if (data === DONE_DATA) shown.done = { data };
    else if (name !== undefined) shown[name] ??= { event: name, data };
    else if (shown.first === undefined) shown.first = { data };
    else shown.last = { data };
  }
  return shown;
}

const scopes = SCOPES.join(", ");

const SECURITY_SCHEMES: JsonObject = {
  serviceKey: {
    type: "http",
    scheme: "bearer",
    description: `A workspace service key, \`sbx_…\`. Each endpoint names the scope that the key needs; there are ${scopes}.`,
  },
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description:
      "The same service key, or the same token, as clients of the messages protocol send it. Under `/api/v1/` only; if Authorization is sent too, both must be the same.",
  },
  exchangedToken: {
    type: "http",
    scheme: "bearer",
    description:
      "A token of minutes from POST /v1/credentials/exchange. It has fewer rights than its key: some operations, some routes, from one web origin.",
  },
};

/** Of the rows of the list one is enough; an empty list: no key is required. */
function securityOf(endpoint: Endpoint): readonly JsonObject[] {
  const schemes = [
    "serviceKey",
    ...(endpoint.path.startsWith("/api/v1/") ? ["apiKey"] : []),
    ...(acceptsTokens(endpoint) ? ["exchangedToken"] : []),
  ];
  return schemes.flatMap((scheme) => endpoint.scopes.map((scope) => ({ [scheme]: [scope] })));
}

/**
 * The contract as deployed (OpenAPI 3.1), made from the same rows that the server runs on and the
 * same schemas that validate requests.
 *
 * The program's version is not part of it: two builds that promise the same have the same contract,
 * and `build_id` of /status distinguishes them.
 *
 * @param endpoints rows; tests pass changed ones.
 */
export function openApiDocument(endpoints: readonly Endpoint[] = ENDPOINTS): JsonObject {
  const components = new SchemaComponents();
  const errors = new ErrorAnswers();
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const endpoint of endpoints) {
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = components.refer(operationOf(endpoint, errors));
  }
  const responses = components.refer(errors.responses);
  return {
    openapi: "3.1.0",
    info: {
      title: "Signalbox",
      version: CONTRACT_VERSION,
      summary: "Governed router for model inference",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "Where this document was fetched" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { ...components.schemas, ...COMPONENT_SCHEMAS },
      responses,
      headers: headerComponents(endpoints, [
        200,
        ...new Set(DESCRIBED_ERRORS.map(({ status }) => status)),
      ]),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/**
 * SHA-256 of the canonical form (RFC 8785) of the document: it differs exactly when the contract
 * does. A client that fetches /openapi.json can compute it.
 */
export function contractSha256(document: JsonObject): string {
  return hash("sha256", canonicalJson(document), "hex");
}

/** Members whose value is data and has no schemas in it. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "example"]);

/**
 * Gathers the schemas that have a title under it, and puts a reference where each stood: a reader
 * finds a type once, and generated clients name it.
 *
 * @throws {Error} where two different schemas have one title; that is a bug of ours.
 */
class SchemaComponents {
  readonly #schemas = new Map<string, JsonObject>();
  /** The schema of a title before its own parts were moved out. */
  readonly #originals = new Map<string, JsonObject>();

  /** By title, in the order of their names. */
  get schemas(): JsonObject {
    return Object.fromEntries(
      [...this.#schemas].toSorted(([left], [right]) => (left < right ? -1 : 1)),
    );
  }

  /**
   * A schema, or a part of the document that has some, with references for all parts that have a
   * title, itself included.
   */
  refer(schema: JsonObject): JsonObject {
    const { title } = schema;
    if (typeof title !== "string") return this.#members(schema);
    const original = this.#originals.get(title);
    if (original === undefined) {
      this.#originals.set(title, schema);
      this.#schemas.set(title, this.#members(schema));
    } else if (original !== schema && canonicalJson(original) !== canonicalJson(schema)) {
      throw new Error(`contract: two schemas have the title ${title}`);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  #members(schema: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.#member(keyword, value)]),
    );
  }

  #member(keyword: string, value: JsonValue | undefined): JsonValue | undefined {
    if (DATA.has(keyword)) return value;
    if (keyword === "properties" && isJsonObject(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          name,
          isJsonObject(member) ? this.refer(member) : member,
        ]),
      );
    }
    if (Array.isArray(value)) {
      const items: readonly JsonValue[] = value;
      return items.map((item) => (isJsonObject(item) ? this.refer(item) : item));
    }
    return isJsonObject(value) ? this.refer(value) : value;
  }
}

/** Introduction of the contract, in Markdown. */
const DESCRIPTION = `Signalbox takes requests for inference in four protocols, decides by a routing table and by policies which endpoints may serve them, and relays or translates them.

**Errors.** Under \`/api/\` an error is an \`AnthropicError\`, at \`/v1/credentials/exchange\` an \`OAuthError\` (RFC 6749), everywhere else an \`Error\`. Paths and methods that are not listed here are answered with 404 (\`unknown_path\`, or \`not_supported\` for stored objects, which do not exist here).

**Before a path is known**, errors have the shape of \`Error\` and no headers but the request id and those of the body: 400 \`malformed_request\`, 408 \`header_timeout\`, 413 \`request_too_large\` (chunk extensions), 431 \`headers_too_large\`.

**Streams.** A 200 with \`text/event-stream\` means only that an answer has begun; the last event of each stream shows whether the answer is complete. Its \`schema\` describes one event of the stream: \`event\` is the name, \`data\` a text with JSON, whose schema is under \`contentSchema\`.

**Web pages.** If a key may be exchanged for tokens that are bound to an origin, pages of that origin get the CORS headers, and their preflights (OPTIONS) an empty 204.

\`info.version\` counts changes that break clients; it is not the version of the program. \`contract_sha256\` of GET /status is the SHA-256 of this document in its canonical form (RFC 8785).`;

/** Of the first contract; it changes where a change breaks clients. */
const CONTRACT_VERSION = "1.0.0";

/** The file that `npm run build` writes; absent beside the sources. */
const BUILT = new URL("./deployed.json", import.meta.url);

let sha256: string | null = null;
let text: string | null = null;

/**
 * The contract that a server answers, made when it is first requested: making it is a tenth of a
 * start.
 */
export const DEPLOYED_CONTRACT = {
  /** {@link contractSha256} of the document. */
  get sha256(): string {
    return (sha256 ??= builtSha256() ?? contractSha256(openApiDocument()));
  },

  /** The document as JSON. */
  get text(): string {
    return (text ??= JSON.stringify(openApiDocument()));
  },
};

function builtSha256(): string | null {
  if (!existsSync(BUILT)) return null;
  const read: unknown = parseJson(readFileSync(BUILT, "utf8"));
  return isJsonObject(read) && typeof read.sha256 === "string" ? read.sha256 : null;
}

/**
 * Requests that a reader can send to an endpoint, with answers. Tests send each to a server and
 * check its answers against the contract.
 */
interface EndpointExample {
  /** Values of `{name}` in the path, and of query parameters, by name. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Bodies by name, in the order to try them. */
  readonly requests?: Readonly<Record<string, JsonObject>>;
  /** The entity tag to send as If-Match. */
  readonly ifMatch?: string;
  /** A 200 body; text where the endpoint answers text. */
  readonly answer?: JsonObject | string;
  /** A stream as it arrives. */
  readonly stream?: string;
}

/** The digest of a policy's content in examples; tests replace it by that of a real content. */
export const EXAMPLE_DIGEST = "7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a";

/** The public id of a key in examples, likewise. */
export const EXAMPLE_KEY = "4fzkq8wpc2rt";

/** The id of a request in examples, likewise. */
export const EXAMPLE_DECISION = "req_0199d2a4f1c04b6a8f0e2d7c915b3a64";

/** The name of a policy in examples, likewise. */
const EXAMPLE_POLICY = "tool-approval";

export const EXAMPLE_ETAG = '"4a7c1f02b9d35e68"';

/** Stands for a time in the future; a request that is sent has another one. */
export const EXAMPLE_EXPIRY = "2027-06-30T00:00:00Z";

const ofKey = { parameters: { id: EXAMPLE_KEY } } as const;
const ofName = { parameters: { workspace: "demo", name: "payments-checkout" } } as const;
const ofPolicy = { parameters: { id: EXAMPLE_POLICY } } as const;

const CONTROL_EXAMPLES: Readonly<Record<string, EndpointExample>> = {
  retrieveModel: { parameters: { id: "chat-small" } },
  retrieveAnthropicModel: { parameters: { id: "claude-sonnet-4-6" } },
  listAnthropicModels: { parameters: { limit: "2" } },
  simulateRoute: {
    parameters: { operation: "chat.completions" },
    requests: {
      shape: { model: "chat-small", needs: ["tools"], stream: true, provider: { region: "eu" } },
      request: {
        model: "chat-small",
        request: { messages: [{ role: "user", content: "Say hello." }] },
      },
      promoted: {
        model: "chat-large",
        time: { day: "weekday", hour: "afternoon" },
        promoted: true,
      },
    },
  },
  listDecisions: { parameters: { operation: "chat.completions", outcome: "route", limit: "2" } },
  retrieveDecision: { parameters: { id: EXAMPLE_DECISION } },
  explainDecision: { parameters: { id: EXAMPLE_DECISION } },
  createKey: {
    requests: {
      plain: {
        name: "checkout-prod",
        scopes: ["inference", "catalogue:read"],
        owner: "group:payments",
        expires_in: 7_776_000,
      },
      exchangeable: {
        scopes: ["inference"],
        owner: "group:web",
        workload: "chat-widget",
        expires_in: 7_776_000,
        exchange: {
          maximum_lifetime: 900,
          operations: ["chat.completions"],
          origins: ["https://app.example.com"],
        },
        limits: { requests_per_minute: 60, budget: { usd: 5, per: "day" } },
      },
    },
  },
  listKeys: { parameters: { limit: "2" } },
  retrieveKey: ofKey,
  rotateKey: { ...ofKey, requests: { plain: { overlap_seconds: 3_600, expires_in: 7_776_000 } } },
  revokeKey: ofKey,
  putNamedKey: {
    ...ofName,
    requests: {
      plain: {
        scopes: ["inference", "catalogue:read"],
        owner: "group:payments",
        expires_at: EXAMPLE_EXPIRY,
        limits: { budget: { usd: 50, per: "day" } },
      },
    },
  },
  retrieveNamedKey: ofName,
  deleteNamedKey: ofName,
  exchangeKey: {
    requests: {
      plain: {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        operations: "chat.completions",
        origin: "https://app.example.com",
        lifetime: 300,
        max_requests: 20,
      },
    },
  },
  retrievePolicy: ofPolicy,
  retrievePolicyContent: { parameters: { id: EXAMPLE_POLICY, digest: "candidate" } },
  retrievePolicyShadow: { parameters: { id: EXAMPLE_POLICY, examples: "5" } },
  retrievePolicySimulation: ofPolicy,
  listPolicyTransitions: { parameters: { id: EXAMPLE_POLICY, limit: "10" } },
  approvePolicy: { ...ofPolicy, requests: { plain: { digest: EXAMPLE_DIGEST } } },
  promotePolicy: {
    ...ofPolicy,
    ifMatch: EXAMPLE_ETAG,
    requests: { plain: { expected: { candidate_revision: "r1", enforced_revision: null } } },
  },
  rollBackPolicy: {
    ...ofPolicy,
    ifMatch: EXAMPLE_ETAG,
    requests: { plain: { expected: { enforced_revision: "r1" }, reason: "wrong_denials" } },
  },
  withdrawPolicy: {
    ...ofPolicy,
    ifMatch: EXAMPLE_ETAG,
    requests: {
      approval: { what: "approval", digest: EXAMPLE_DIGEST },
      candidate: { what: "candidate", expected: { candidate_revision: "r1" } },
    },
  },
  releasePolicy: {
    ...ofPolicy,
    ifMatch: EXAMPLE_ETAG,
    requests: { plain: { digest: EXAMPLE_DIGEST } },
  },
  getSpend: { parameters: { group_by: "route,day" } },
  getGovernanceSummary: { parameters: { group_by: "operation,day" } },
};

import RECORDED from "./recorded-answers.json" with { type: "json" };

const INFERENCE_EXAMPLES: Readonly<Record<string, EndpointExample>> = Object.fromEntries(
  INFERENCE_ENDPOINTS.map(({ id, surface }) => [id, { requests: surface.contract.examples }]),
);

const REQUESTS: Readonly<Record<string, EndpointExample>> = {
  ...INFERENCE_EXAMPLES,
  ...CONTROL_EXAMPLES,
};

/**
 * A server's answers, with constant ids and times and short lists; `npm run generate` writes them.
 */
const ANSWERS: Readonly<Record<string, Pick<EndpointExample, "answer" | "stream">>> = RECORDED;

/** By the id of the endpoint. */
export const EXAMPLES: Readonly<Record<string, EndpointExample>> = Object.fromEntries(
  [...new Set([...Object.keys(REQUESTS), ...Object.keys(ANSWERS)])].map((id) => [
    id,
    { ...REQUESTS[id], ...ANSWERS[id] },
  ]),
);
