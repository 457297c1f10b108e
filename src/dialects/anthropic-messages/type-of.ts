import type { JsonObject } from "../../canon/json.ts";

/** What kind of thing an object of the protocol says it is; the empty string where it does not say. */
export function typeOf({ type }: JsonObject): string {
  return typeof type === "string" ? type : "";
}
