import { createHash } from "node:crypto";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { SchemaComponents } from "./document/components.ts";
import { ErrorAnswers } from "./document/error-answers.ts";
import { DESCRIBED_ERRORS } from "./document/error-rows.ts";
import { operationOf } from "./document/operation.ts";
import { CONTRACT_VERSION, DESCRIPTION } from "./document/prose.ts";
import { headerComponents } from "./document/response-headers.ts";
import { SECURITY_SCHEMES } from "./document/security.ts";
import { TAGS, type Endpoint } from "./endpoint.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { COMPONENT_SCHEMAS } from "./validate.ts";

/**
 * The contract as deployed (OpenAPI 3.1), made from the same rows that the server runs on and the same schemas that validate requests.
 *
 * The program's version is not part of it: two builds that promise the same have the same contract, and `build_id` of /status tells them apart.
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
      headers: headerComponents(endpoints, [200, ...new Set(DESCRIBED_ERRORS.map(({ status }) => status))]),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/**
 * SHA-256 of the canonical form (RFC 8785) of the document: it differs exactly when the contract does. Whoever fetches /openapi.json can compute it.
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
