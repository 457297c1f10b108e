import { SCOPES } from "../../../canon/identity.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { publishedSchema, titleOf, type EventStream } from "../../../dialects/contract-schemas.ts";
import type { ErrorAnswers } from "./error-answers.ts";
import { REQUEST_HEADERS } from "./request-headers.ts";
import { headersOf } from "./response-headers.ts";
import { takesTokens, type Endpoint } from "../endpoint.ts";
import { EXAMPLES, type EndpointExample } from "../examples.ts";

/**
 * One endpoint as OpenAPI describes it; schemas stand whole. @param errors gathers what it can
 * answer instead of a 200.
 */
export function operationOf(endpoint: Endpoint, errors: ErrorAnswers): JsonObject {
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
  return otherAnswerType === undefined
    ? whole
    : { ...whole, [otherAnswerType]: { schema: { type: "string" } } };
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

/** What may be sent beside a body and a key. */
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
      ...(description !== undefined && { description }),
      // Several times by its name; `group_by` may have commas too.
      ...(schema["type"] === "array" && { style: "form", explode: true }),
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
function serverSentEvent({ events, isNamed, hasDone, ends }: EventStream): JsonObject {
  const json: JsonObject = {
    type: "string",
    contentMediaType: "application/json",
    contentSchema: events,
  };
  return {
    title: `ServerSent${titleOf(events)}`,
    description: `One event of the stream. The answer is complete if the stream ends with: ${ends}`,
    type: "object",
    required: isNamed && !hasDone ? ["event", "data"] : ["data"],
    properties: {
      event: {
        type: "string",
        description: isNamed
          ? "The event's name: `type` of its data. Only `[DONE]` has none."
          : "Events of this stream have no name.",
      },
      data: hasDone ? { anyOf: [{ const: DONE, description: "The last event." }, json] } : json,
    },
  };
}

/** Data of the last event in OpenAI's protocols; it is not JSON. */
const DONE = "[DONE]";

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
    if (data === DONE) shown["done"] = { data };
    else if (name !== undefined) shown[name] ??= { event: name, data };
    else if (shown["first"] === undefined) shown["first"] = { data };
    else shown["last"] = { data };
  }
  return shown;
}

const scopes = SCOPES.join(", ");

export const SECURITY_SCHEMES: JsonObject = {
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
    ...(takesTokens(endpoint) ? ["exchangedToken"] : []),
  ];
  return schemes.flatMap((scheme) => endpoint.scopes.map((scope) => ({ [scheme]: [scope] })));
}
