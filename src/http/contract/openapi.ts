import { createHash } from "node:crypto";
import { canonicalJson, type JsonObject } from "../../canon/json.ts";
import { SCOPES } from "../../canon/scope.ts";
import { scopesOf, type Endpoint } from "./endpoint.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { MISSING_REQUIREMENT } from "./policies/policy-answers.ts";
import { REQUEST_HEADERS } from "./request-headers.ts";
import { COMPONENT_SCHEMAS } from "./validate.ts";

/** The contract as deployed (OpenAPI 3.1), made from the same rows that the server runs on. */
export function openApiDocument(version: string): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const endpoint of ENDPOINTS) {
    const path = (paths[endpoint.path] ??= {});
    path[endpoint.method.toLowerCase()] = operation(endpoint);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Signalbox",
      version,
      summary: "Governed router for model inference",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    paths,
    components: {
      schemas: { ...COMPONENT_SCHEMAS, Error: ERROR },
      securitySchemes: {
        serviceKey: {
          type: "http",
          scheme: "bearer",
          description: `A workspace service key. Scopes: ${SCOPES.join(", ")}.`,
        },
      },
    },
  };
}

/** SHA-256 of the canonical form: differs exactly when the contract does. */
export function contractSha256(document: JsonObject): string {
  return createHash("sha256").update(canonicalJson(document)).digest("hex");
}

function operation(endpoint: Endpoint): JsonObject {
  const errors = Object.keys(ERRORS).filter((status) => isAnsweredBy(endpoint, status));
  return {
    operationId: endpoint.id,
    summary: endpoint.summary,
    description: `Served on the ${endpoint.listener} listener.`,
    // One row of the list is enough.
    security: scopesOf(endpoint).map((scope) => ({ serviceKey: [scope] })),
    ...parameters(endpoint),
    ...(endpoint.body === null
      ? {}
      : {
          requestBody: {
            required: endpoint.isBodyOptional !== true,
            content: {
              "application/json": { schema: endpoint.body },
              ...(endpoint.acceptsForm === true
                ? { "application/x-www-form-urlencoded": { schema: endpoint.body } }
                : {}),
            },
          },
        }),
    responses: {
      "200": {
        description: "Success",
        ...(endpoint.hasEntityTag === true && { headers: ENTITY_TAG }),
        content: {
          [endpoint.answerType ?? "application/json"]: { schema: endpoint.answer },
          ...(endpoint.streams ? { "text/event-stream": { schema: { type: "string" } } } : {}),
        },
      },
      ...Object.fromEntries(
        errors.map((status) => [
          status,
          {
            description: ERRORS[status] ?? "Error",
            content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
          },
        ]),
      ),
    },
  };
}

function isAnsweredBy(endpoint: Endpoint, status: string): boolean {
  if (status === "408") return endpoint.body !== null;
  if (status === "409") return endpoint.conflicts === true;
  if (status === "412" || status === "428") return endpoint.ifMatch !== undefined;
  return endpoint.scope !== null || status === "503";
}

function parameters(endpoint: Endpoint): JsonObject {
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name ?? "",
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inQuery = (schemas: Readonly<Record<string, JsonObject>>, required: boolean): readonly JsonObject[] =>
    Object.entries(schemas).map(([name, schema]) => ({ name, in: "query", required, schema }));
  const inHeaders = REQUEST_HEADERS.filter(({ isReadBy }) => isReadBy(endpoint)).map(
    ({ name, description, schema }) => ({ name, in: "header", required: false, description, schema }),
  );
  const { query, optionalQuery = {} } = endpoint;
  return { parameters: [...inPath, ...inQuery(query, true), ...inQuery(optionalQuery, false), ...inHeaders] };
}

const ENTITY_TAG = {
  ETag: { description: "Names the state that the answer shows, for If-Match.", schema: { type: "string" } },
} as const;

const ERRORS: Readonly<Record<string, string>> = {
  "400": "The request is malformed, or needs something that the route does not have",
  "401": "No service key, or one that is mistyped, expired or revoked",
  "403": "Denied by a policy, by an approval, or for want of a scope; never worth a retry",
  "404": "No such route, key or policy for this workspace",
  "408": "The body did not arrive in time",
  "409": "How things stand does not allow it; the error says what is missing",
  "412": "What the caller has seen is not so any more; the error says how it is",
  "413": "The body is too large",
  "415": "The body is not application/json",
  "428": "The change needs If-Match with the ETag of what the caller has seen",
  "429": "A limit or budget of the workspace is exhausted",
  "502": "Every provider that may serve the request failed",
  "503": "Nothing healthy, or evidence cannot be written",
  "504": "A deadline passed",
};

const ERROR = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["message", "type", "param", "code"],
      properties: {
        message: { type: "string" },
        type: { type: "string" },
        param: { type: ["string", "null"] },
        code: { type: "string" },
        policy: {
          type: "object",
          properties: { id: { type: "string" }, revision: { type: "string" }, mode: { const: "enforce" } },
        },
        failed_constraint: { type: "string" },
        reason_code: { type: "string" },
        decision_id: { type: "string" },
        missing: { type: "array", items: MISSING_REQUIREMENT },
        current: {
          type: "object",
          required: ["etag", "candidate_revision", "enforced_revision"],
          properties: {
            etag: { type: "string" },
            candidate_revision: { type: ["integer", "null"] },
            enforced_revision: { type: ["integer", "null"] },
          },
        },
      },
    },
  },
} as const;
