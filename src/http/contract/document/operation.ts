import type { JsonObject } from "../../../canon/json.ts";
import { publishedSchema } from "../../../dialects/contract/parser-rules.ts";
import type { Endpoint } from "../endpoint.ts";
import type { EndpointExample } from "../examples/example.ts";
import { eventExamples, serverSentEvent } from "./server-sent-event.ts";
import { EXAMPLES } from "../examples/examples.ts";
import type { ErrorAnswers } from "./error-answers.ts";
import { parametersOf } from "./parameters.ts";
import { headersOf } from "./response-headers.ts";
import { securityOf } from "./security.ts";

/** One endpoint as OpenAPI describes it; schemas stand whole. @param errors gathers what it can answer instead of a 200. */
export function operationOf(endpoint: Endpoint, errors: ErrorAnswers): JsonObject {
  const example = EXAMPLES[endpoint.id] ?? NO_EXAMPLE;
  return {
    operationId: endpoint.id,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    security: securityOf(endpoint),
    parameters: parametersOf(endpoint),
    ...(endpoint.body !== null && { requestBody: requestBody(endpoint, publishedSchema(endpoint.body), example) }),
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

function requestBody(endpoint: Endpoint, schema: JsonObject, { requests = {} }: EndpointExample): JsonObject {
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

function wholeAnswer({ answer, answerType = "application/json" }: Endpoint, example: EndpointExample): JsonObject {
  const shown = example.answer === undefined ? {} : { whole: example.answer };
  return { [answerType]: { schema: answer, ...examples(shown) } };
}

/** In OpenAPI 3.1 the schema is that of each event: docs/decisions/0021-events-in-the-contract.md. */
function streamedAnswer({ stream }: Endpoint, example: EndpointExample): JsonObject {
  if (stream === undefined) return {};
  return { "text/event-stream": { schema: serverSentEvent(stream), ...examples(eventExamples(example.stream ?? "")) } };
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
