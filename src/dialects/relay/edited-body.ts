import type { RequestEdits } from "../../canon/decision.ts";
import { editSet, NO_EDITS, type EditSet } from "../../canon/generate/edit.ts";
import type { JsonValue } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { EndpointRow, UnknownFields } from "../../canon/table.ts";
import { saysNothing, type FieldRegistry } from "../fields.ts";

/** A body on its way to a provider of the same protocol; what has been done so far is the same in all protocols. */
interface EditedBody {
  readonly body: Record<string, JsonValue | undefined>;
  readonly stripped: string[];
  readonly edits: EditSet;
}

const MODEL_REPLACED = editSet("model_replaced");

/**
 * The caller's members that a provider may see, under the provider's name for the model: our own and the identity members are taken out, unknown
 * ones where the route strips them, and what policies oblige us to take out. Everything else travels as it came, members of nested objects included.
 */
export function editedBody(
  registry: FieldRegistry,
  request: InferenceRequest,
  endpoint: EndpointRow,
  mode: UnknownFields,
  edits: RequestEdits,
): EditedBody {
  const body: Record<string, JsonValue | undefined> = {};
  const stripped: string[] = [];
  const stripFields: readonly string[] = edits.stripFields;
  for (const name in request.body) {
    const facts = Object.hasOwn(registry, name) ? registry[name] : undefined;
    if (facts === undefined ? isLeftOut(request.body[name], mode) : facts.class === "identity") {
      stripped.push(facts === undefined ? "unknown_field" : name);
    } else if (stripFields.includes(name)) {
      stripped.push(name);
    } else if (facts?.class !== "ours") {
      setMember(body, name, request.body[name]);
    }
  }
  body["model"] = endpoint.upstreamModel;
  return { body, stripped, edits: request.model === endpoint.upstreamModel ? NO_EDITS : MODEL_REPLACED };
}

/** A route that refuses unknown members lets pass only those that say nothing: providers refuse some of them all the same. */
function isLeftOut(value: JsonValue | undefined, mode: UnknownFields): boolean {
  return mode === "strip" || (mode === "reject" && saysNothing(value));
}

/**
 * An object with a prototype: without one the engine keeps a table of the members, and prints it three times as slowly. So `__proto__` is defined, to travel
 * as a member and not to become the prototype.
 */
function setMember(body: Record<string, JsonValue | undefined>, name: string, value: JsonValue | undefined): void {
  if (name !== "__proto__") body[name] = value;
  else Object.defineProperty(body, name, { value, writable: true, enumerable: true, configurable: true });
}
