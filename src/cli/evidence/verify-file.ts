import { chainHash, ChainVerifier, type ChainFault, type ChainLink, type ChainRow } from "../../evidence/chain.ts";
import { CommandError, EXIT, type CommandIo } from "../terminal/command-io.ts";
import { readHeader, readRow, type ExportHeader, type ExportRow } from "../../evidence/export-line.ts";
import { readPolicyHeader } from "../../evidence/policy-export-line.ts";
import { formatLink } from "./links.ts";
import { verifyPolicyFile } from "./policies.ts";
import { readLines } from "./read-lines.ts";
import { describeFault, verifyRows } from "./verify.ts";

/** Places that were noted elsewhere, in the log of requests and in that of policies. */
export interface NotedPlaces {
  readonly evidence: readonly ChainLink[];
  readonly policies: readonly ChainLink[];
}

/**
 * Verifies an export, without a database: of a whole log its chain, of a selection each row by itself.
 *
 * @throws {CommandError} for a file that cannot be read or is no export
 */
export async function verifyFile(path: string, places: NotedPlaces, io: CommandIo): Promise<number> {
  const lines = readLines(path);
  const first = await lines.next();
  const text = first.done === true ? "" : first.value;
  const policyHeader = readPolicyHeader(text);
  if (policyHeader !== null) {
    refuse(places.evidence, "of policies; --expect-head and --anchor are for evidence, --policy-head is for these");
    return verifyPolicyFile(policyHeader, lines, places.policies, io);
  }
  const header = readHeader(text);
  if (header === null) throw new CommandError("--file: is no export of evidence; its first line must say what it is");
  refuse(places.policies, "of evidence; --policy-head is for exports of policies");
  const noted = places.evidence;
  if (header.workspace !== null && noted.length > 0) {
    throw new CommandError("--file: holds a selection; places in the chain can only be checked against a whole export");
  }
  const fault =
    header.workspace === null ? await verifyChain(header, lines, noted, io) : await verifySelection(lines, io);
  if (fault === null) return EXIT.ok;
  io.stderr(`signalbox evidence: the export ${describeFault(fault)}\n`);
  return EXIT.failed;
}

function refuse(places: readonly ChainLink[], kind: string): void {
  if (places.length > 0) throw new CommandError(`--file: is an export ${kind}`);
}

async function verifyChain(
  { from, to }: ExportHeader,
  lines: AsyncIterable<string>,
  noted: readonly ChainLink[],
  io: CommandIo,
): Promise<ChainFault | null> {
  for (const { position } of noted) {
    if (position < from.position || position > to.position) {
      throw new CommandError(
        `position ${position} cannot be checked: the export covers ${from.position} to ${to.position}`,
      );
    }
  }
  const verifier = new ChainVerifier({ from, remembered: [to, ...noted] });
  const fault = await verifyRows(verifier, readRows(lines));
  if (fault === null) {
    io.stdout(`verified ${verifier.rows} rows after ${formatLink(from)}\nlast ${formatLink(verifier.head)}\n`);
  }
  return fault;
}

async function verifySelection(lines: AsyncIterable<string>, io: CommandIo): Promise<ChainFault | null> {
  let rows = 0;
  let last = 0;
  for await (const { position, previous, kind, record, hash } of readRows(lines)) {
    if (position <= last) return { position, cause: "gap" };
    if (chainHash(previous, position, kind, record) !== hash) return { position, cause: "hash" };
    last = position;
    rows += 1;
  }
  io.stdout(
    `verified ${rows} rows, each by itself: they are a selection of one workspace, and no chain\n` +
      "that none is missing shows only in an export of the whole log\n",
  );
  return null;
}

async function* readRows(lines: AsyncIterable<string>): AsyncGenerator<ExportRow & ChainRow, void> {
  let number = 1;
  for await (const line of lines) {
    number += 1;
    const row = readRow(line);
    if (row === null) throw new CommandError(`--file: line ${number} is no row of an export`);
    yield row;
  }
}
