import type { JsonObject } from "../../../canon/json.ts";
import type { Endpoint } from "../endpoint.ts";
import { REQUEST_HEADERS } from "../request-headers.ts";

/** What may be sent beside a body and a key. */
export function parametersOf(endpoint: Endpoint): readonly JsonObject[] {
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: `${PATH_NAMES[endpoint.tag] ?? "Its id"}, with % escapes for characters that have a meaning in a path.`,
    schema: { type: "string", minLength: 1 },
  }));
  const inQuery = (schemas: Readonly<Record<string, JsonObject>>, required: boolean): readonly JsonObject[] =>
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

const PATH_NAMES: Readonly<Partial<Record<Endpoint["tag"], string>>> = {
  Models: "The route's name",
  "Service keys": "The key's public id",
  Policies: "The policy's id",
};
