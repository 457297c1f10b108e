import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { familyOf, isTokenEndpoint, type Endpoint } from "../../src/http/contract/endpoint.ts";
import { errorSchemaOf } from "../../src/http/contract/document/error-answers.ts";
import { titleOf } from "../../src/dialects/contract-schemas.ts";
import { openApiDocument } from "../../src/http/contract/openapi.ts";

export const DOCUMENT = openApiDocument();

/** An answer as a client has it. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const ajv = new Ajv2020({
  strict: false,
  validateSchema: false,
  formats: { "date-time": DATE_TIME },
});
ajv.addSchema(DOCUMENT, "contract");
const validators = new Map<string, ValidateFunction>();

/**
 * Members of the document by their names; a reference is followed. Nothing where one is missing.
 */
function find(names: readonly string[]): {
  readonly value: JsonValue | undefined;
  readonly pointer: string;
} {
  let value: JsonValue | undefined = DOCUMENT;
  let pointer = "";
  for (const name of names) {
    if (isJsonObject(value) && typeof value["$ref"] === "string") {
      const found = find(value["$ref"].slice(2).split("/"));
      ({ value, pointer } = found);
    }
    value = Array.isArray(value)
      ? value[Number(name)]
      : isJsonObject(value)
        ? value[name]
        : undefined;
    pointer += `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  }
  if (isJsonObject(value) && typeof value["$ref"] === "string")
    return find(value["$ref"].slice(2).split("/"));
  return { value, pointer };
}

/** The members of an object of the document; none where there is no object. */
function membersOf(names: readonly string[]): JsonObject {
  const { value } = find(names);
  return isJsonObject(value) ? value : {};
}

/**
 * What is wrong with a value by the schema that stands at a position of the document; nothing where
 * it is as described.
 */
function faults(names: readonly string[], value: unknown): readonly string[] {
  const { pointer } = find(names);
  const validate =
    validators.get(pointer) ?? ajv.compile({ $ref: `contract#${encodeURI(pointer)}` });
  validators.set(pointer, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    (error) => `${error.instancePath} ${error.message ?? ""} ${error.schemaPath}`,
  );
}

/** Headers that HTTP itself needs, and Node sets. */
const OF_HTTP = new Set([
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
]);

/** Everything in which an answer is not what /openapi.json says of the endpoint. */
export function deviations({ path, method }: Endpoint, answered: Answered): readonly string[] {
  const operation = ["paths", path, method.toLowerCase()];
  const answer = [...operation, "responses", String(answered.status)];
  if (find(answer).value === undefined)
    return [`status ${answered.status} is not documented: ${answered.text}`];
  const [type = ""] = (answered.headers.get("content-type") ?? "").split(";", 1);
  if (membersOf([...answer, "content"])[type] === undefined)
    return [`content type "${type}" is not documented`];
  return [
    ...headerDeviations(answer, answered.headers),
    ...bodyDeviations([...answer, "content", type], type, answered),
  ];
}

function headerDeviations(answer: readonly string[], headers: Headers): readonly string[] {
  const described = membersOf([...answer, "headers"]);
  const problems: string[] = [];
  for (const [name, value] of headers) {
    if (OF_HTTP.has(name)) continue;
    if (described[name] === undefined) {
      problems.push(`header ${name} is not documented`);
      continue;
    }
    const schema = membersOf([...answer, "headers", name, "schema"]);
    const read = schema.type === "integer" && /^\d+$/.test(value) ? Number(value) : value;
    problems.push(
      ...faults([...answer, "headers", name, "schema"], read).map(
        (fault) => `header ${name}: ${fault}`,
      ),
    );
  }
  for (const name of Object.keys(described)) {
    const isRequired = membersOf([...answer, "headers", name]).required === true;
    if (isRequired && !headers.has(name)) problems.push(`header ${name} is missing`);
  }
  return problems;
}

function bodyDeviations(
  content: readonly string[],
  type: string,
  { text }: Answered,
): readonly string[] {
  if (type === "text/event-stream") return streamDeviations(content, text);
  if (type !== "application/json") return faults([...content, "schema"], text);
  try {
    const faulty = faults([...content, "schema"], JSON.parse(text));
    return faulty.length === 0 ? [] : [...faulty, text.slice(0, 500)];
  } catch {
    return ["the body is not JSON"];
  }
}

/** Every event against the schema of events; `[DONE]` only at the end. */
export function streamDeviations(content: readonly string[], text: string): readonly string[] {
  const problems: string[] = [];
  if (!text.endsWith("\n\n")) problems.push("the stream ends in the middle of an event");
  const events = text.split("\n\n").filter((event) => event !== "" && !event.startsWith(":"));
  if (events.length === 0) problems.push("the stream has no event");
  for (const [index, event] of events.entries()) {
    const data = /^data: ?(.*)$/m.exec(event)?.[1];
    const name = /^event: ?(.*)$/m.exec(event)?.[1];
    if (data === "[DONE]" && index < events.length - 1)
      problems.push("[DONE] is not the last event");
    const sent = {
      ...(name !== undefined && { event: name }),
      ...(data !== undefined && { data }),
    };
    problems.push(...eventDeviations(content, sent).map((fault) => `event ${index}: ${fault}`));
  }
  return problems;
}

/**
 * One event against the schema of events, and its data against the schema of their content; its
 * name is the `type` of its data.
 */
function eventDeviations(content: readonly string[], event: JsonObject): readonly string[] {
  const faulty = faults([...content, "schema"], event);
  const { data, event: name } = event;
  if (faulty.length > 0 || data === "[DONE]" || typeof data !== "string") return faulty;
  const value: unknown = JSON.parse(data);
  const schema = [...content, "schema", "properties", "data"];
  const location = "anyOf" in membersOf(schema) ? [...schema, "anyOf", "1"] : schema;
  const found = faults([...location, "contentSchema"], value).map(
    (fault) => `${fault}: ${data.slice(0, 200)}`,
  );
  const type = isJsonObject(value) && typeof value.type === "string" ? value.type : undefined;
  return name === type ? found : [...found, "the event has another name than its data"];
}

/** What is wrong with the examples in the document itself. */
export function exampleDeviations({ path, method }: Endpoint): readonly string[] {
  const operation = ["paths", path, method.toLowerCase()];
  const locations = [
    ...Object.keys(membersOf([...operation, "requestBody", "content"])).map((type) => [
      ...operation,
      "requestBody",
      "content",
      type,
    ]),
    ...Object.keys(membersOf([...operation, "responses"])).flatMap((status) =>
      Object.keys(membersOf([...operation, "responses", status, "content"])).map((type) => [
        ...operation,
        "responses",
        status,
        "content",
        type,
      ]),
    ),
  ];
  return locations.flatMap((location) =>
    Object.keys(membersOf([...location, "examples"])).flatMap((name) => {
      const { value } = find([...location, "examples", name, "value"]);
      const isStream = location.at(-1) === "text/event-stream";
      const problems = isStream
        ? eventDeviations(location, isJsonObject(value) ? value : {})
        : faults([...location, "schema"], value);
      return problems.map((problem) => `${location.slice(3).join(" ")} ${name}: ${problem}`);
    }),
  );
}

/**
 * What is wrong with the answer to a request for no endpoint: 400 or 404, in the shape of the
 * path's family, with a request id.
 */
export function unroutedDeviations(
  path: string,
  method: string,
  { status, headers, text }: Answered,
): readonly string[] {
  const problems: string[] = [];
  if (status !== 404 && status !== 400) problems.push(`status ${status}`);
  if (!headers.has("x-request-id") || headers.get("x-request-id") !== headers.get("request-id")) {
    problems.push("no request id");
  }
  if (method === "HEAD")
    return text === "" ? problems : [...problems, "an answer to HEAD has a body"];
  if (headers.get("content-type") !== "application/json")
    problems.push(`type ${headers.get("content-type") ?? ""}`);
  const schema = isTokenEndpoint(path) ? "OAuthError" : titleOf(errorSchemaOf(familyOf(path)));
  return [...problems, ...faults(["components", "schemas", schema], JSON.parse(text))];
}

/** What is wrong with a body by the contract. */
export function requestFaults({ path, method }: Endpoint, body: unknown): readonly string[] {
  return faults(
    ["paths", path, method.toLowerCase(), "requestBody", "content", "application/json", "schema"],
    body,
  );
}

/**
 * The types of an `eventUnion` with their components and descriptions, for readers. Empty where the
 * events have no types.
 */
export function eventTypes(events: JsonObject): readonly (readonly [string, JsonObject])[] {
  const [known] = Array.isArray(events.anyOf) ? events.anyOf : [];
  if (!isJsonObject(known) || !Array.isArray(known.oneOf)) return [];
  return known.oneOf.filter(isJsonObject).flatMap((event) => {
    const { properties } = event;
    const type =
      isJsonObject(properties) && isJsonObject(properties.type) ? properties.type.const : undefined;
    return typeof type === "string" ? [[type, event] as const] : [];
  });
}
