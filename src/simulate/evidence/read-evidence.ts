import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isJsonObject } from "../../canon/json.ts";
import { readHeader, readRow } from "../../evidence/export-line.ts";
import { readEvidenceSample, readEvidenceUsage, parseRecord } from "./evidence-sample.ts";
import type { EvidenceTally } from "./evidence-tally.ts";

/** The file is none that `signalbox evidence export` has written, or cannot be read. */
export class EvidenceFileError extends Error {
  override readonly name = "EvidenceFileError";
}

/**
 * Adds the decisions of an export of any size, line by line. @returns the tally.
 *
 * @throws {EvidenceFileError}
 */
export async function readEvidence(
  path: string,
  tally: EvidenceTally,
  signal: AbortSignal,
): Promise<EvidenceTally> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  let isFirst = true;
  try {
    for await (const line of lines) {
      signal.throwIfAborted();
      if (isFirst && readHeader(line) === null) {
        throw new EvidenceFileError(
          "--evidence: the file has no header of an export; write one with signalbox evidence export",
        );
      }
      if (!isFirst && line !== "") addLine(line, tally);
      isFirst = false;
    }
  } catch (error) {
    if (error instanceof Error && "code" in error && typeof error.code === "string") {
      throw new EvidenceFileError(`--evidence: the file cannot be read (${error.code})`);
    }
    throw error;
  } finally {
    lines.close();
  }
  if (isFirst)
    throw new EvidenceFileError(
      "--evidence: the file is empty; write one with signalbox evidence export",
    );
  return tally;
}

function addLine(line: string, tally: EvidenceTally): void {
  const row = readRow(line);
  if (row === null) {
    tally.unreadable += 1;
    return;
  }
  const record = parseRecord(row.record);
  if (row.kind !== "decision") {
    const usage = readEvidenceUsage(record);
    if (usage !== null) tally.addUsage(usage);
    return;
  }
  if (!isJsonObject(record)) {
    tally.unreadable += 1;
    return;
  }
  const found = readEvidenceSample(record);
  if (found !== null) tally.add(found);
}
