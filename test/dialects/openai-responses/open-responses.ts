import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../../../src/canon/json.ts";
import { sharedAtHand } from "../../support/at-hand.ts";

/**
 * Names of the schemas for events that the specification calls by other names than the protocol's
 * own provider.
 */
const RENAMED: Readonly<Record<string, string>> = {
  "response.reasoning_text.delta": "response.reasoning.delta",
  "response.reasoning_text.done": "response.reasoning.done",
};

/**
 * Says what of a value is not as the specification of Open Responses wants it; `null` where the
 * specification is absent.
 */
export interface OpenResponses {
  readonly event: (event: JsonObject) => string | null;
  readonly resource: (resource: JsonObject) => string | null;
}

export function openResponses(): OpenResponses | null {
  const file = sharedAtHand("reference/open-responses-2026-01.openapi.json");
  if (file === null) return null;
  const document: {
    components: { schemas: Record<string, { properties: Record<string, unknown> }> };
  } = JSON.parse(readFileSync(file, "utf8"));
  const { schemas } = document.components;
  // Wrongly typed as null in the document; everybody sends an object.
  const format = schemas.JsonSchemaResponseFormat;
  if (format !== undefined) format.properties.schema = { type: ["object", "null"] };
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(document, "open-responses");
  const check = (name: string, value: unknown): string | null => {
    const validate = ajv.getSchema(`open-responses#/components/schemas/${name}`);
    if (validate === undefined) return `no schema ${name}`;
    return validate(value) === true ? null : `${name}: ${ajv.errorsText(validate.errors)}`;
  };
  const byType = new Map<string, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    const type: unknown = schema.properties?.type;
    if (
      !name.endsWith("StreamingEvent") ||
      typeof type !== "object" ||
      type === null ||
      !("enum" in type)
    )
      continue;
    byType.set(String(type.enum), name);
  }
  return {
    event: (event) => {
      const type = typeof event.type === "string" ? event.type : "";
      const known = RENAMED[type] ?? type;
      return check(byType.get(known) ?? known, { ...event, type: known });
    },
    resource: (resource) => check("ResponseResource", resource),
  };
}
