import { createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { type JsonValue, parseJsonObject } from "../../canon/json.ts";
import { GENESIS, type ChainLink, type ChainRow } from "../../evidence/chain.ts";
import type { EvidenceLog } from "../../evidence/evidence-store.ts";
import {
  formatHeader,
  formatPolicyHeader,
  formatPolicyRow,
  formatRow,
} from "../../evidence/export-line.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import { CommandError, UsageError, errorCode, type CommandIo } from "../terminal/command-io.ts";
import { startOf, walkLog, walkPolicyLog } from "./verify.ts";

/** Rows to export. */
interface ExportedRows {
  /** Rows after this position; `null`: from the first one. */
  readonly after: number | null;
  /** The last position; `null`: the newest when the export begins. */
  readonly until: number | null;
  /** `null`: all workspaces. */
  readonly workspace: string | null;
}

/**
 * Lines of an export: a header, and the rows of the log.
 *
 * @throws {UsageError} for positions that the log does not have. @throws {CommandError} for a log
 * that is not whole.
 */
export async function* exportLog(
  log: EvidenceLog,
  { after, until, workspace }: ExportedRows,
): AsyncGenerator<string, void> {
  const from = await exportStart(log, after);
  const to = await exportEnd(log, until, from);
  yield formatHeader({ from, to, workspace });
  /** Running requests of the workspace: an outcome does not name its workspace. */
  const running = new Set<JsonValue | undefined>();
  const isSelected = ({ position, kind, record }: ChainRow): boolean => {
    if (workspace === null) return true;
    const facts = parseJsonObject(record);
    if (facts === null) throw interrupted(position);
    if (kind === "outcome") return running.delete(facts.requestId);
    if (facts.workspace !== workspace) return false;
    running.add(facts.requestId);
    return true;
  };
  let previous = from;
  for await (const row of walkLog(log, from.position)) {
    if (row.position > to.position) break;
    if (row.position !== previous.position + 1) throw interrupted(previous.position + 1);
    // A line feed in a record would make two rows of it.
    if (row.record.includes("\n")) throw interrupted(row.position);
    if (isSelected(row)) yield formatRow({ ...row, previous: previous.hash });
    previous = row;
  }
  if (previous.position !== to.position) throw interrupted(previous.position + 1);
}

async function exportStart(log: EvidenceLog, after: number | null): Promise<ChainLink> {
  const { from } = await startOf(log);
  if (after === null || after === from.position) return from;
  if (after < from.position) {
    throw new UsageError(
      `--after: rows up to ${from.position} were pruned; give that position, or leave it out`,
    );
  }
  return rowAt(log, after, "--after");
}

async function exportEnd(
  log: EvidenceLog,
  until: number | null,
  from: ChainLink,
): Promise<ChainLink> {
  if (until === null) return log.head();
  if (until < from.position)
    throw new UsageError(
      `--until: is before ${from.position}, where the export begins; give a later position`,
    );
  return until === from.position ? from : rowAt(log, until, "--until");
}

async function rowAt(log: EvidenceLog, position: number, flag: string): Promise<ChainLink> {
  if (position === 0) return GENESIS;
  const [row] = await log.log({ after: position - 1, limit: 1 });
  if (row?.position !== position)
    throw new UsageError(
      `${flag}: the log has no row ${position}; see the newest row with: signalbox evidence verify`,
    );
  return row;
}

function interrupted(position: number) {
  return new CommandError(
    `the export ends before position ${position}: rows were pruned meanwhile, or the log is damaged; run "signalbox evidence verify"`,
  );
}

/**
 * Lines of an export of the whole policy log: a header, and the rows.
 *
 * @throws {CommandError} for a log that is not whole.
 */
export async function* exportPolicyLog(log: PolicyLogStore): AsyncGenerator<string, void> {
  const to = await log.head();
  yield formatPolicyHeader({ to });
  let position = 0;
  for await (const row of walkPolicyLog(log)) {
    if (position === to.position) break;
    // A line feed in a record would make two rows of it.
    if (row.position !== position + 1 || row.record.includes("\n")) break;
    yield formatPolicyRow(row);
    ({ position } = row);
  }
  if (position === to.position) return;
  throw new CommandError(
    `the export ends before position ${position + 1}: the policy log is damaged; run "signalbox evidence verify"`,
  );
}

/**
 * Writes lines to a new file, or to stdout where `path` is `null`; the file has its name only once it
 * is whole and on disk.
 *
 * @throws {CommandError} where a file of this name exists, or it cannot be written; then nothing is
 * left behind
 */
export async function writeExport(
  path: string | null,
  io: CommandIo,
  lines: AsyncIterable<string>,
): Promise<void> {
  if (path === null) {
    for await (const line of lines) io.stdout(`${line}\n`);
    return;
  }
  const partial = `${path}.${process.pid}.partial`;
  try {
    refuseExisting(path);
    const file = createWriteStream(partial, { flags: "wx", mode: 0o600, flush: true });
    await pipeline(
      lines,
      async function* (read: typeof lines) {
        for await (const line of read) yield `${line}\n`;
      },
      file,
    );
    refuseExisting(path);
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw notWritten(error);
  }
  // Best effort: some file systems cannot sync a folder.
  const folder = await openFile(dirname(path), "r").catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

function refuseExisting(path: string) {
  if (existsSync(path))
    throw new CommandError("--output: the file exists already; give the path of a new file");
}

/** An error of the file system as one of the command; any other error, as of the store, as it is. */
function notWritten(error: unknown) {
  const code = errorCode(error);
  if (typeof code !== "string" || !/^E[A-Z0-9]{2,20}$/.test(code)) return error;
  return new CommandError(
    `--output: the file cannot be written (${code}); check the path, its access rights and the free space on the disk`,
  );
}
