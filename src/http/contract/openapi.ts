import { createHash } from "node:crypto";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../canon/json.ts";
import { ErrorAnswers } from "./document/error-answers.ts";
import { DESCRIBED_ERRORS } from "./document/error-rows.ts";
import { operationOf, SECURITY_SCHEMES } from "./document/operation.ts";
import { headerComponents } from "./document/response-headers.ts";
import { TAGS, type Endpoint } from "./endpoint.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { COMPONENT_SCHEMAS } from "../validate-body.ts";
import { existsSync, readFileSync } from "node:fs";

/**
 * The contract as deployed (OpenAPI 3.1), made from the same rows that the server runs on and the
 * same schemas that validate requests.
 *
 * The program's version is not part of it: two builds that promise the same have the same contract,
 * and `build_id` of /status distinguishes them.
 *
 * @param endpoints rows; tests change some to see what follows.
 */
export function openApiDocument(endpoints: readonly Endpoint[] = ENDPOINTS): JsonObject {
  const components = new SchemaComponents();
  const errors = new ErrorAnswers();
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const endpoint of endpoints) {
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = withReferences(operationOf(endpoint, errors), components);
  }
  const responses = withReferences(errors.responses, components);
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
  return createHash("sha256").update(canonicalJson(document)).digest("hex");
}

/** Takes the titled schemas out of an operation. Nothing but schemas stands under `schema`. */
function withReferences(value: JsonValue | undefined, components: SchemaComponents): JsonValue {
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    return items.map((item) => withReferences(item, components));
  }
  if (!isJsonObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (name === "examples") return [name, member];
      const isSchema = name === "schema" && isJsonObject(member);
      return [name, isSchema ? components.refer(member) : withReferences(member, components)];
    }),
  );
}

/** Members of a schema whose value is data and no schema. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "example"]);

/**
 * Gathers the schemas that have a title under it, and puts a reference where each stood: a reader
 * finds a type once, and generated clients name it.
 *
 * @throws {Error} where two different schemas have one title; that is a bug of ours.
 */
class SchemaComponents {
  readonly #schemas = new Map<string, JsonObject>();
  /** What a title stood for, before its own parts were taken out. */
  readonly #originals = new Map<string, JsonObject>();

  /** By title, in the order of their names. */
  get schemas(): JsonObject {
    return Object.fromEntries(
      [...this.#schemas].toSorted(([left], [right]) => (left < right ? -1 : 1)),
    );
  }

  /** The schema with references for all of its parts that have a title, itself included. */
  refer(schema: JsonObject): JsonObject {
    const { title } = schema;
    if (typeof title !== "string") return this.#members(schema);
    const known = this.#originals.get(title);
    if (known === undefined) {
      this.#originals.set(title, schema);
      this.#schemas.set(title, this.#members(schema));
    } else if (known !== schema && canonicalJson(known) !== canonicalJson(schema)) {
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

/** What stands above the endpoints, in Markdown. */
const DESCRIPTION = `Signalbox takes requests for inference in four protocols, decides by a routing table and by policies which endpoints may serve them, and relays or translates them.

**Errors.** Under \`/api/\` an error is an \`AnthropicError\`, at \`/v1/credentials/exchange\` an \`OAuthError\` (RFC 6749), everywhere else an \`Error\`. Paths and methods that are not listed here are answered with 404 (\`unknown_path\`, or \`not_supported\` for stored objects, which do not exist here).

**Before a path is known**, errors have the shape of \`Error\` and no headers but the request id and those of the body: 400 \`malformed_request\`, 408 \`header_timeout\`, 413 \`request_too_large\` (chunk extensions), 431 \`headers_too_large\`.

**Streams.** A 200 with \`text/event-stream\` means only that an answer has begun; the last event of each stream shows whether the answer is complete. Its \`schema\` describes one event of the stream: \`event\` is the name, \`data\` a text with JSON, whose schema is under \`contentSchema\`.

**Web pages.** If a key may be exchanged for tokens that are bound to an origin, pages of that origin get the CORS headers, and their preflights (OPTIONS) an empty 204.

\`info.version\` counts changes that break clients; it is not the version of the program. \`contract_sha256\` of GET /status is the SHA-256 of this document in its canonical form (RFC 8785).`;

/** Of the first contract; it changes where a change breaks clients. */
const CONTRACT_VERSION = "1.0.0";

/** What `npm run build` has computed; beside the sources there is no such file. */
const BUILT = new URL("./deployed.json", import.meta.url);

/**
 * The contract that a server answers, made when it is first requested: making it is a tenth of a
 * start.
 */
export class DeployedContract {
  #sha256: string | null = null;
  #text: string | null = null;

  /** {@link contractSha256} of the document. */
  get sha256(): string {
    return (this.#sha256 ??= builtSha256() ?? contractSha256(openApiDocument()));
  }

  /** The document as JSON. */
  get text(): string {
    return (this.#text ??= JSON.stringify(openApiDocument()));
  }
}

function builtSha256(): string | null {
  if (!existsSync(BUILT)) return null;
  const read: unknown = parseJson(readFileSync(BUILT, "utf8"));
  return isJsonObject(read) && typeof read["sha256"] === "string" ? read["sha256"] : null;
}
