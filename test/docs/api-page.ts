import { eventTypes } from "../contract/contract.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import {
  DESCRIBED_ERRORS,
  type DescribedError,
} from "../../src/http/contract/document/error-rows.ts";
import { errorSchemaOf, errorsOf } from "../../src/http/contract/document/error-answers.ts";
import { parametersOf } from "../../src/http/contract/openapi.ts";
import {
  EDIT_VALUES,
  RESPONSE_HEADERS,
} from "../../src/http/contract/document/response-headers.ts";
import {
  familyOf,
  isTokenEndpoint,
  TAGS,
  acceptsTokens,
  type Endpoint,
} from "../../src/http/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { titleOf } from "../../src/dialects/contract-schemas.ts";
import { EXAMPLES } from "../../src/http/contract/openapi.ts";
import { pathOf } from "../contract/served.ts";

const HEAD = `# API reference

Made from the contract, which every server answers at \`/openapi.json\` (OpenAPI 3.1); a test holds this page against it, and \`npm run generate\` writes it anew.
The contract has more: every nested schema, every stream event, an example answer of each endpoint. Each request shown here is sent to a server with simulated providers by \`test/contract/examples.test.ts\`, and its answer is checked.

\`GET /status\` names the contract that a server speaks (\`contract_sha256\`: the SHA-256 of the canonical form, RFC 8785, of \`/openapi.json\`) and the build that runs (\`build_id\`: \`SIGNALBOX_BUILD_ID\`, or the version and a digest of the program's files).
Two builds of one contract have the same \`contract_sha256\`.

The examples take the server's address from \`SIGNALBOX_URL\` and a key from \`SIGNALBOX_KEY\`; those of the admin listener its address from \`SIGNALBOX_ADMIN_URL\`.
`;

const CREDENTIALS = `## Credentials

A service key goes into \`Authorization: Bearer …\`; under \`/api/v1/\` \`x-api-key\` is taken too. Each endpoint names the scope that a key needs. Where "or a token" stands, a token from
\`POST /v1/credentials/exchange\` does as well. Endpoints of the admin listener require no key.
`;

/** The whole page. */
export function apiPage(): string {
  const groups = Object.entries(TAGS).map(([tag, description]) => {
    const endpoints = ENDPOINTS.filter((endpoint) => endpoint.tag === tag);
    return `## ${tag}\n\n${description}\n\n${endpoints.map(section).join("\n")}`;
  });
  return [HEAD, CREDENTIALS, sharedHeaders(), answerHeaders(), ...groups, errorTable()].join("\n");
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonObject;
}

function parameters(endpoint: Endpoint): readonly Parameter[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the contract's own function makes
  return parametersOf(endpoint) as unknown as readonly Parameter[];
}

const EVERYWHERE = new Set(
  ENDPOINTS.map((endpoint) => parameters(endpoint).map(({ name }) => name)).reduce((left, right) =>
    left.filter((name) => right.includes(name)),
  ),
);

function sharedHeaders(): string {
  const [first] = ENDPOINTS;
  const shared =
    first === undefined ? [] : parameters(first).filter(({ name }) => EVERYWHERE.has(name));
  return `## Headers of every request\n\nNone has to be sent.\n\n${parameterTable(shared)}`;
}

function answerHeaders(): string {
  const rows = RESPONSE_HEADERS.map(
    ({ name, description }) =>
      `| \`${name}\` | ${cell(description.split(" The values:", 1)[0] ?? "")} |`,
  );
  const edits = Object.entries(EDIT_VALUES).map(
    ([value, meaning]) => `| \`${value}\` | ${cell(meaning)} |`,
  );
  return `## Headers of answers\n\nThe contract says which endpoint answers which of them, with which status.\n\n| Header | |\n|---|---|\n${rows.join("\n")}\n\n### Values of x-signalbox-edits\n\nThe evidence has the same values, under \`edits\`, \`stripped\` and \`dropped\`.\n\n| Value | |\n|---|---|\n${edits.join("\n")}\n`;
}

function section(endpoint: Endpoint): string {
  const { method, path, summary, body, stream } = endpoint;
  const own = parameters(endpoint).filter(({ name }) => !EVERYWHERE.has(name));
  return [
    `### ${method} ${path}\n\n${summary}.\n\n${whoMayCall(endpoint)}\n`,
    ...(own.length === 0 ? [] : [parameterTable(own)]),
    ...(body === null
      ? []
      : [`**Takes** ${bodyText(endpoint)}\n\n${memberTable(body, "required")}`]),
    answerText(endpoint),
    ...(stream === undefined
      ? []
      : [
          `**Streams** ${typeName(stream.events)}s where the body has \`"stream": true\`. Whole where: ${stream.ends}\n`,
          ...eventTable(stream.events),
        ]),
    `**Errors** ${errorCodes(endpoint)}\n`,
    `<!-- executed by: test/contract/examples.test.ts -->\n\`\`\`sh\n${curl(endpoint)}\n\`\`\`\n`,
  ].join("\n");
}

/** Events by name, each with its component of the contract; nothing where events have no names. */
function eventTable(events: JsonObject): readonly string[] {
  const rows = eventTypes(events).map(([type, event]) => {
    const required = Array.isArray(event.required)
      ? event.required.filter((name) => name !== "type")
      : [];
    return `| \`${type}\` | \`${titleOf(event)}\` | ${required.map(code).join(", ")} | ${cell(event.description)} |`;
  });
  return rows.length === 0
    ? []
    : [`| Event | Data | Always has | |\n|---|---|---|---|\n${rows.join("\n")}\n`];
}

/** With the members, unless an endpoint before it answers the same. */
function answerText(endpoint: Endpoint): string {
  const { answer, answerType } = endpoint;
  const type = `${typeName(answer)}${answerType === undefined ? "" : ` (\`${answerType}\`)`}`;
  const first = ENDPOINTS.find((other) => other.answer === answer);
  if (first !== undefined && first !== endpoint) {
    return `**Answers** 200 with ${type}, as ${first.method} ${first.path} does.\n`;
  }
  return `**Answers** 200 with ${type}.\n\n${memberTable(answer, "always")}`;
}

function whoMayCall(endpoint: Endpoint): string {
  const { scopes } = endpoint;
  if (endpoint.listener === "admin") return "On the admin listener, for anybody who reaches it.";
  if (scopes.length === 0) return "For anybody.";
  const named = scopes.map((scope) => `\`${scope}\``).join(" or ");
  return `Needs a key with the scope ${named}${acceptsTokens(endpoint) ? ", or a token" : ""}.`;
}

function bodyText({ acceptsForm, isBodyOptional, uniqueMembers }: Endpoint): string {
  const what = acceptsForm === true ? "a JSON object or a form" : "a JSON object";
  const optional = isBodyOptional === true ? ", or no body at all" : "";
  return `${what}${optional}${uniqueMembers === true ? "; a member that is named twice is refused" : ""}:`;
}

function parameterTable(rows: readonly Parameter[]): string {
  const lines = rows.map(
    ({ name, in: location, required, description, schema }) =>
      `| \`${name}\` | ${location}${required ? ", required" : ""} | ${typeOf(schema)} | ${cell(description)} |`,
  );
  return `| Parameter | In | Type | |\n|---|---|---|---|\n${lines.join("\n")}\n`;
}

/** @param needed what is said of members that are there in any case. */
function memberTable(schema: JsonObject, needed: string): string {
  const lines = memberRows(schema, needed, "");
  return lines.length === 0 ? "" : `| Member | Type | |\n|---|---|---|\n${lines.join("\n")}\n`;
}

/** Members, and those of an object among them that has no name of its own. */
function memberRows(
  { properties, required }: JsonObject,
  needed: string,
  before: string,
): readonly string[] {
  if (!isJsonObject(properties)) return [];
  const always = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).flatMap(([name, schema]) => {
    const described = isJsonObject(schema) ? schema : {};
    const mark = always.has(name) ? ` (${needed})` : "";
    const row = `| \`${before}${name}\`${mark} | ${typeOf(described)} | ${cell(described.description)} |`;
    const isPlain = before === "" && described.title === undefined;
    return [row, ...(isPlain ? memberRows(described, needed, `${name}.`) : [])];
  });
}

function cell(text: JsonValue | undefined): string {
  return typeof text === "string" ? text.replaceAll("|", "\\|").replaceAll("\n", " ") : "";
}

const MOST_VALUES = 14;

/** What a value may be, in short. */
function typeOf(schema: JsonObject): string {
  const { title, $ref, const: constant, enum: values, anyOf, type, items } = schema;
  if (typeof title === "string") return title;
  if (typeof $ref === "string") return $ref.slice($ref.lastIndexOf("/") + 1);
  if (constant !== undefined) return code(constant);
  if (Array.isArray(values)) {
    const shown = values.slice(0, MOST_VALUES).map(code).join(", ");
    return values.length > MOST_VALUES ? `${shown}, …` : shown;
  }
  if (Array.isArray(anyOf))
    return [...new Set(anyOf.map((one) => (isJsonObject(one) ? typeOf(one) : "")))].join(" or ");
  const types = Array.isArray(type) ? type : [type ?? "any"];
  const item = isJsonObject(items) ? ` of ${typeOf(items)}` : "";
  const plain = types.map((one) => (one === "array" ? `array${item}` : String(one))).join(" or ");
  return `${plain}${bounds(schema)}`;
}

function code(value: JsonValue): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

function bounds({ minimum, maximum }: JsonObject): string {
  if (typeof minimum === "number")
    return `, ${typeof maximum === "number" ? `${minimum} to ${maximum}` : `at least ${minimum}`}`;
  return typeof maximum === "number" ? `, at most ${maximum}` : "";
}

function typeName(schema: JsonObject): string {
  return typeof schema.title === "string" ? `\`${schema.title}\`` : "text";
}

function codeText({ code: named }: DescribedError): string {
  return typeof named === "string" ? `\`${named}\`` : `codes such as \`${named.like}\``;
}

/** Those that only this endpoint and some others have; the rest is said once. */
function errorCodes(endpoint: Endpoint): string {
  const statuses = [...errorsOf(endpoint)].map(([status, rows]) => {
    const codes = rows.map(codeText);
    const shown = codes.slice(0, MOST_VALUES).join(", ");
    return `${status}: ${shown}${codes.length > MOST_VALUES ? ", …" : ""}`;
  });
  const schema = isTokenEndpoint(endpoint.path)
    ? "OAuthError"
    : titleOf(errorSchemaOf(familyOf(endpoint.path)));
  return `(\`${schema}\`) ${statuses.join(" · ")}`;
}

function curl(endpoint: Endpoint): string {
  const { parameters: values = {}, requests = {}, ifMatch } = EXAMPLES[endpoint.id] ?? {};
  const origin = endpoint.listener === "admin" ? "$SIGNALBOX_ADMIN_URL" : "$SIGNALBOX_URL";
  const [request] = Object.values(requests);
  const method = endpoint.method === "POST" && request === undefined ? " -X POST" : "";
  return [
    `curl${method} "${origin}${pathOf(endpoint, values)}"`,
    ...(endpoint.scopes.length === 0 ? [] : ['-H "Authorization: Bearer $SIGNALBOX_KEY"']),
    ...(ifMatch === undefined ? [] : [`-H 'If-Match: ${ifMatch}'`]),
    ...(request === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d '${JSON.stringify(request)}'`]),
  ].join(" \\\n  ");
}

function errorTable(): string {
  const rows = new Map<string, DescribedError[]>();
  for (const row of DESCRIBED_ERRORS) {
    const key = `${row.status} ${JSON.stringify(row.code)}`;
    rows.set(key, [...(rows.get(key) ?? []), row]);
  }
  const lines = [...rows.values()]
    .toSorted(([left], [right]) => (left?.status ?? 0) - (right?.status ?? 0))
    .flatMap((same) => {
      const [row] = same;
      if (row === undefined) return [];
      const sentences = [...new Set(same.map(({ when }) => when))].join(" ");
      return [`| ${row.status} | ${codeText(row)} | ${cell(sentences)} |`];
    });
  return `## Errors by code

Everywhere but under \`/api/\` an error is \`{"error": {"message", "type", "param", "code", …}}\`; under \`/api/\` it is \`{"type": "error", "error": {"type", "message", "details": {"error_code", …}}, "request_id"}\`.
\`POST /v1/credentials/exchange\` answers \`{"error", "error_description"}\` (RFC 6749), with 400 where the table has 403; the description ends with the code below and the request id.
A denial has \`policy\`, \`failed_constraint\`, \`reason_code\` and \`decision_id\` too. Programs look at the code; the sentence is for people and may change. Paths and methods that are not listed are answered with 404.

| Status | Code | |
|---|---|---|
${lines.join("\n")}
`;
}
