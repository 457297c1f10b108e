import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { isJsonObject, type JsonObject } from "../../../../canon/json.ts";
import { parseJson } from "../../../../canon/json/parse-json.ts";
import { objectOf, objectsOf } from "../../../explain/members.ts";
import type { SimulationReport } from "../../../../simulate/report/report.ts";
import { readNamedFile } from "../../../../policy/read-regular-file.ts";
import { UsageError, type CommandIo } from "../../../terminal/command-io.ts";
import { numberOf, type Content } from "../server/view.ts";

/** The largest report that is read, bytes. */
const LARGEST = 256 * 1024 * 1024;

/** Reports of older versions take what acts for something else. */
export const REPORT_FORMAT: SimulationReport["format"] = "signalbox.simulation.v2";

/** What is approved, and what the report must be about. */
export interface Approved {
  readonly policy: string;
  readonly content: Content;
  /** Whether it is the policy's end, for messages. */
  readonly isRemoval: boolean;
}

/**
 * The simulation report that the approver has seen, and how an approval names it: by the SHA-256 of the file's bytes, and facts of the report.
 *
 * @param path of a report of `signalbox simulate --format json`.
 * @throws {UsageError} for what is none, or is about another content: it would vouch for what nobody looked at.
 */
export async function readReportReference(
  path: string,
  approved: Approved,
  io: CommandIo,
): Promise<{ readonly reference: JsonObject; readonly json: JsonObject }> {
  const bytes = await readBytes(resolve(io.cwd, path));
  const report = parseReport(bytes);
  const head = objectOf(report, "head");
  const reference = referenceOf(report, createHash("sha256").update(bytes).digest("hex"));
  if (report["format"] !== REPORT_FORMAT || head === null || reference === null) throw noReport();
  refuseOther(report, head, approved);
  return { reference, json: report };
}

/** How an approval names a report; `null` for what is none. @param sha256 of its bytes. */
export function referenceOf(report: JsonObject, sha256: string): JsonObject | null {
  const revision = objectOf(report, "head")?.["table_revision"];
  if (typeof revision !== "string") return null;
  return {
    sha256,
    table_revision: revision,
    complete: report["complete"] === true,
    assertions: assertionsOf(objectOf(report, "assertions")),
  };
}

/** The end of a policy stands in a report with the digest that a store gives it, like any other content. */
function refuseOther(report: JsonObject, head: JsonObject, { policy, content, isRemoval }: Approved): void {
  // What is kept from base acts already: nobody approves that.
  const contents = objectsOf(head, "policies").filter(({ id, from }) => id === policy && from === "head");
  const found = contents.find(({ digest }) => digest === content.digest);
  if (found === undefined && isRemoval && contents.length === 0) {
    throw new UsageError(
      "--report: does not say what the end of the policy does; simulate with a base that enforces it, and a head without it",
    );
  }
  if (found === undefined) {
    const holds = contents.length === 0 ? "does not have the policy" : "holds other content of the policy";
    throw new UsageError(
      `--report: its head side ${holds}, and r${content.revision} is to be approved; simulate the tree that holds it`,
    );
  }
  // A candidate does nothing in the report, unless it was taken for promoted.
  const promoted = report["promoted_policies"];
  const isPromoted = Array.isArray(promoted) && promoted.includes(policy);
  if (found["slot"] === "candidate" && !isPromoted) {
    throw new UsageError(
      "--report: does not say what promoting the policy does; simulate without --promote, or with --promote of it",
    );
  }
}

/** Gates of coverage count where they were set; without one nobody asked for anything. */
function assertionsOf(assertions: JsonObject | null): JsonObject {
  const gates = objectsOf(assertions, "coverage").filter(({ required }) => typeof required === "number");
  const gate = (status: string): number => gates.filter((one) => one["status"] === status).length;
  const amount = (name: string): number => Math.max(0, Math.floor(numberOf(assertions, name) ?? 0));
  return {
    passed: amount("passed") + gate("PASS"),
    failed: amount("failed") + gate("FAIL"),
    waived: amount("waived"),
  };
}

async function readBytes(path: string): Promise<Buffer> {
  const bytes = await readNamedFile(path, LARGEST).catch(() => {
    throw new UsageError("--report: the file cannot be read; name the output of signalbox simulate --format json");
  });
  if (bytes === "too_large") throw new UsageError(`--report: is larger than ${LARGEST / 1024 / 1024} MiB`);
  return Buffer.from(bytes);
}

function parseReport(bytes: Buffer): JsonObject {
  try {
    const value: unknown = parseJson(bytes.toString("utf8"));
    if (isJsonObject(value)) return value;
  } catch {
    // The parser's message quotes the text.
  }
  throw noReport();
}

function noReport(): UsageError {
  return new UsageError(
    `--report: is no report of signalbox simulate --format json as this version writes it (${REPORT_FORMAT})`,
  );
}
