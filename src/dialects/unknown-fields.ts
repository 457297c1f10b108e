import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { JsonObject } from "../canon/json.ts";
import type { UnknownFields } from "../canon/table.ts";
import { nearestField, saysNothing, unknownFields, type FieldRegistry } from "./fields.ts";

/**
 * The 400 for members that nobody knows, where the route does not say `strip` or `forward`. Names are quoted only when they look like one.
 *
 * @param protocol what the surface is called in a sentence, such as `responses`.
 */
export function refuseUnknownFields(
  registry: FieldRegistry,
  body: JsonObject,
  mode: UnknownFields,
  protocol: string,
): ServiceError | null {
  if (mode !== "reject") return null;
  const name = unknownFields(registry, body).find((unknown) => !saysNothing(body[unknown]));
  if (name === undefined) return null;
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) {
    return invalidRequest("unknown_field", `The request has a member that ${protocol} requests do not have`);
  }
  const near = nearestField(registry, name);
  const hint = near === null ? "" : `; did you mean ${near}?`;
  return invalidRequest("unknown_field", `Unknown field ${name}${hint}`, name);
}
