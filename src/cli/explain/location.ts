import { isJsonObject, type JsonValue } from "../../canon/json.ts";
import type { SourceLocation } from "../../simulate/report/location.ts";
import { printable } from "../terminal/printing.ts";

/** `routes.yaml:12:3`, `policies/a.rego:4:1 in base`; the empty string where unknown. */
export function formatLocation(location: SourceLocation | JsonValue | undefined): string {
  if (!isJsonObject(location)) return "";
  const { file, line, column } = location;
  if (typeof file !== "string" || typeof line !== "number" || typeof column !== "number") return "";
  return `${printable(file)}:${line}:${column}${"side" in location && location["side"] === "base" ? " in base" : ""}`;
}
