import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import { parseJson } from "../../../canon/json/parse-json.ts";
import { objectOf, objectsOf } from "../../explain/members.ts";
import type { SimulationReport } from "../../../simulate/report/report.ts";
import { UsageError, type CommandIo } from "../../terminal/command-io.ts";
import { numberOf, type Content } from "./server/view.ts";

/** The largest report that is read, bytes. */
const LARGEST = 256 * 1024 * 1024;

/** Reports of older versions take what acts for something else. */
const FORMAT: SimulationReport["format"] = "signalbox.simulation.v2";

/** What is approved, and what the report must be about. */
export interface Approved {
  readonly policy: string;
  readonly content: Content;
  /** Whether it is the policy's end, for messages. */
  readonly isRemoval: boolean;
}

/**
 * What an approval says of the simulation that the approver has seen: the SHA-256 of the file's bytes, and facts that the report holds itself.
 *
 * @param path of a report of `signalbox simulate --format json`.
 * @throws {UsageError} for what is none, or is about another content: it would vouch for what nobody looked at.
 */
export async function readReportReference(path: string, approved: Approved, io: CommandIo): Promise<JsonObject> {
  const bytes = await readBytes(resolve(io.cwd, path));
  const report = parseReport(bytes);
  const head = objectOf(report, "head");
  const revision = head?.["table_revision"];
  if (report["format"] !== FORMAT || head === null || typeof revision !== "string") throw noReport();
  refuseOther(report, head, approved);
  return {
    sha256: createHash("sha256").update(bytes).digest("hex"),
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
  try {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      if (size > LARGEST) throw new UsageError(`--report: is larger than ${LARGEST / 1024 / 1024} MiB`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError("--report: the file cannot be read; name the output of signalbox simulate --format json");
  }
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
    `--report: is no report of signalbox simulate --format json as this version writes it (${FORMAT})`,
  );
}
