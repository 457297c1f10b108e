import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { chainHash, ChainVerifier, type ChainFault, type ChainLink } from "../../evidence/chain.ts";
import { CommandError } from "../terminal/command-io.ts";
import {
  readHeader,
  readRow,
  type ExportHeader,
  readPolicyHeader,
} from "../../evidence/export-line.ts";
import {
  formatLink,
  notVerified,
  describeEnd,
  endJson,
  type LogEnd,
  type Verified,
} from "./verified.ts";
import { verifyPolicyFile } from "./policies.ts";
import { describeCutEnd, describeFault, refuseUncovered, rowsOf, verifyRows } from "./verify.ts";

/** Positions that were noted elsewhere, in the log of requests and in that of policies. */
interface NotedPositions {
  readonly evidence: readonly ChainLink[];
  readonly policies: readonly ChainLink[];
}

/**
 * Verifies an export, without a database: of a whole log its chain, of a selection each row by
 * itself.
 *
 * @throws {CommandError} for a file that cannot be read or is no export
 */
export async function verifyFile(path: string, positions: NotedPositions): Promise<Verified> {
  const lines = readLines(path);
  const first = await lines.next();
  const text = first.done === true ? "" : first.value;
  const policyHeader = readPolicyHeader(text);
  if (policyHeader !== null) {
    refuse(
      positions.evidence,
      "of policies; --expect-head and --anchor are for evidence, --policy-head is for these",
    );
    return verifyPolicyFile(policyHeader, lines, positions.policies);
  }
  const header = readHeader(text);
  if (header === null)
    throw new CommandError(
      "--file: is not an export of evidence: its first line must be the header that export writes",
    );
  refuse(positions.policies, "of evidence; --policy-head is for exports of policies");
  const noted = positions.evidence;
  if (header.workspace !== null && noted.length > 0) {
    throw new CommandError(
      "--file: holds a selection; positions in the chain can only be checked against a whole export",
    );
  }
  return header.workspace === null
    ? await verifyChain(header, lines, noted)
    : await verifySelection(lines);
}

function failed(fault: ChainFault, sentence = describeFault(fault)): Verified {
  return notVerified(`the export ${sentence}`, { position: fault.position, cause: fault.cause });
}

function refuse(positions: readonly ChainLink[], kind: string): void {
  if (positions.length > 0) throw new CommandError(`--file: is an export ${kind}`);
}

async function verifyChain(
  { from, to }: ExportHeader,
  lines: AsyncIterable<string>,
  noted: readonly ChainLink[],
): Promise<Verified> {
  refuseUncovered(noted, from.position, to.position);
  const verifier = new ChainVerifier({ from, remembered: [to, ...noted] });
  const fault = await verifyRows(verifier, rowsOf(lines, readRow, "an export"));
  const { head } = verifier;
  if (fault !== null)
    return failed(fault, fault.cause === "end" ? describeCutEnd(head, [to]) : undefined);
  const end: LogEnd = { head, noted, flag: "--anchor", server: null };
  return {
    ok: true,
    lines: [
      `verified ${verifier.rows} rows after ${formatLink(from)}`,
      `last ${formatLink(head)}`,
      describeEnd(end),
    ],
    json: {
      verified: true,
      rows: verifier.rows,
      begins_after: from.position,
      head: formatLink(head),
      end: endJson(end),
    },
  };
}

async function verifySelection(lines: AsyncIterable<string>): Promise<Verified> {
  let rows = 0;
  let last = 0;
  for await (const { position, previous, kind, record, hash } of rowsOf(
    lines,
    readRow,
    "an export",
  )) {
    if (position <= last) return failed({ position, cause: "gap" });
    if (chainHash(previous, position, kind, record) !== hash)
      return failed({ position, cause: "hash" });
    last = position;
    rows += 1;
  }
  return {
    ok: true,
    lines: [
      `verified ${rows} rows, each by itself: a selection of one workspace is not a chain`,
      "whether rows are missing can only be checked in an export of the whole log",
    ],
    json: { verified: true, rows, selection: true },
  };
}

/** @throws {CommandError} for a file that cannot be read */
async function* readLines(path: string): AsyncGenerator<string, void> {
  try {
    yield* createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity });
  } catch {
    throw new CommandError("--file: cannot be read; check the path and its access rights");
  }
}
