import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../../../canon/json.ts";
import type { SimulationReport } from "../../../../simulate/report/report.ts";
import { CommandError } from "../../../terminal/command-io.ts";
import { REPORT_FORMAT, referenceOf } from "./report-reference.ts";

/** The report that a server makes of a promotion, and how an approval names it. */
export interface ServerReport {
  /** The bytes whose SHA-256 the server compares. */
  readonly text: string;
  readonly json: JsonObject;
  readonly reference: JsonObject;
}

/** @throws {CommandError} for an answer that is no report of this version. */
export function serverReport(json: JsonObject): ServerReport {
  // The server prints its report like this; the members keep their order.
  const text = `${JSON.stringify(json, null, 2)}\n`;
  const reference = json["format"] === REPORT_FORMAT ? referenceOf(json, sha256(text)) : null;
  if (reference === null) throw notReadable();
  return { text, json, reference };
}

/**
 * The report as formats other than JSON need it.
 *
 * @throws {CommandError} for one with control characters, which would act on the terminal.
 */
export function readableReport({ text, json }: ServerReport): SimulationReport {
  if (/\\u00[01][0-9a-f]|\\u007f|[\u007F-\u009F]|\\[bfnrt]/.test(text) || !isReport(json)) throw notReadable();
  return json;
}

/** The version of the format decides: a server with it has made every member. */
function isReport(value: unknown): value is SimulationReport {
  return isJsonObject(value) && value["format"] === REPORT_FORMAT && isJsonObject(value["space"]);
}

export function notReadable(): CommandError {
  return new CommandError("--server: answered with a simulation report that this version cannot read");
}

export function sha256(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}
