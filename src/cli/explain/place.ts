import { isJsonObject, type JsonValue } from "../../canon/json.ts";
import type { SourcePlace } from "../../simulate/report/report.ts";
import { printable } from "../terminal/printing.ts";

/** `routes.yaml:12:3`, `policies/a.rego:4:1 in base`; the empty string where nobody knows. */
export function formatPlace(place: SourcePlace | JsonValue | undefined): string {
  if (!isJsonObject(place)) return "";
  const { file, line, column } = place;
  if (typeof file !== "string" || typeof line !== "number" || typeof column !== "number") return "";
  return `${printable(file)}:${line}:${column}${"side" in place && place["side"] === "base" ? " in base" : ""}`;
}
