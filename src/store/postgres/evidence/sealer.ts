import { GENESIS, type ChainLink } from "../../../evidence/chain.ts";
import {
  type NewRecord,
  compressedRecords,
  decompressedRecords,
  sealBatch,
} from "../../batch/batch-lines.ts";
import { readBytes, readLink, readNumber, readTexts, type Row } from "../../rows.ts";
import { textArray } from "../pool.ts";
import { StatementFailure } from "../failure.ts";
import { oneAtATime, type PostgresLink } from "../link.ts";

/** Bytes of written records that become one batch of the log: about two milliseconds of work. */
const PAGE = 96 * 1024;

/** Batches that one query considers for a page. */
const MOST = 500;

const MAXIMUM = "SELECT max(id) AS newest FROM signalbox.evidence_written";

/**
 * The newest row, and whether the log is the continuation of the row at position $1 with the hash
 * $2, which was the end of a batch. A missing batch is explained by a prune if the log continues
 * after it.
 */
const HEAD = `
SELECT head.position, head.hash, coalesce(
    (SELECT CASE WHEN batch.first <= $1 THEN batch.last = $1 AND batch.hash = $2 END
      FROM signalbox.evidence_batches AS batch WHERE batch.last >= $1 ORDER BY batch.last LIMIT 1),
    head.position >= $1) AS continues
FROM signalbox.evidence_head AS head`;

const UNSEALED = `
SELECT written.process, written.number, array_to_json(written.workspaces)::text AS workspaces, written.records,
  process.sealed, head.position, head.hash
FROM (
  SELECT one.*, sum(octet_length(one.records)) OVER (ORDER BY one.id) - octet_length(one.records) AS before
  FROM signalbox.evidence_written AS one WHERE one.id <= $1 ORDER BY one.id LIMIT ${MOST}) AS written
JOIN signalbox.evidence_processes AS process ON process.id = written.process
CROSS JOIN signalbox.evidence_head AS head
WHERE written.before < ${PAGE} AND written.number > process.sealed ORDER BY written.id`;

const SEAL = `
SELECT signalbox.seal_evidence($1, $2, $3, $4, $5, $6, $7::text::text[], $8, $9::text::json, $10::text::json)`;

/** SQL states of a read-only user and of a standby. */
const READ_ONLY: readonly (string | null)[] = ["42501", "25006"];

/** Records of a written batch as stored: a line each, of kind, request id and JSON text. */
export function encodeWritten(records: readonly NewRecord[]): Uint8Array {
  const lines = records.map(({ kind, requestId, record }) => `${kind} ${requestId} ${record}`);
  return compressedRecords(Uint8Array.from(Buffer.from(lines.join("\n"))));
}

export type EvidenceSealer = ReturnType<typeof evidenceSealer>;

/**
 * Moves written batches into the log. Of replicas that do so at once, one has an effect.
 *
 * @param newest row of the log as far as is known
 */
export function evidenceSealer(link: PostgresLink, newest: ChainLink | null) {
  async function readHead() {
    const sealedHead = newest ?? GENESIS;
    const row = (await link.query(HEAD, [sealedHead.position, sealedHead.hash]))[0] ?? {};
    const head = readLink(row);
    if (row.continues !== true) {
      const isShorter = head.position < sealedHead.position;
      return { head, cause: isShorter ? ("log_behind" as const) : ("log_differs" as const) };
    }
    if (head.position >= (newest?.position ?? 1)) newest = head;
    return { head, cause: null };
  }

  async function sealAll(): Promise<ChainLink> {
    const [row] = await link.query(MAXIMUM);
    try {
      if (typeof row?.newest === "number") while (await sealPage(row.newest));
    } catch (error) {
      if (!(error instanceof StatementFailure && READ_ONLY.includes(error.code))) throw error;
    }
    return (await readHead()).head;
  }

  /** Whether there was anything left. @param through id of the newest batch that is moved */
  async function sealPage(through: number): Promise<boolean> {
    const rows = await link.query(UNSEALED, [through]);
    const [first] = rows;
    if (first === undefined) return false;
    const head = readLink(first);
    const workspaceLists = rows.flatMap((row) => readTexts(row, "workspaces"));
    const { last, hash, lowest, highest, workspaces, records } = sealBatch(
      head,
      rows.flatMap(readWritten),
      workspaceLists,
    );
    const { sealed, missing } = numbersOf(rows);
    const numbers = [JSON.stringify(sealed), JSON.stringify(missing)];
    const batch = [last, hash, lowest, highest, textArray(workspaces), records];
    await link.query(SEAL, [head.position, head.hash, ...batch, ...numbers]);
    return true;
  }

  return {
    /** The newest row of the log as last known to this process. */
    get head(): ChainLink | null {
      return newest;
    },
    /**
     * Resolves with the newest row of the log when everything is in it that was written before. A
     * user without the right to change the log, and a standby, have what others moved.
     *
     * @throws {StoreUnavailableError}
     */
    seal: oneAtATime(sealAll),
    /**
     * Reads the newest row, which {@link head} is from then on if the log is the continuation of
     * what it was. `cause`: what contradicts that.
     *
     * @throws {StoreUnavailableError}
     */
    readHead,
  };
}

interface Numbers {
  readonly process: number;
  readonly last: number;
}

/** Of each process the newest batch, and batches that are not there although a later one is. */
function numbersOf(rows: readonly Row[]): {
  readonly sealed: readonly Numbers[];
  readonly missing: readonly (Numbers & { readonly first: number })[];
} {
  const newest = new Map<number, number>();
  const missing: (Numbers & { readonly first: number })[] = [];
  for (const row of rows) {
    const [process, number] = [readNumber(row, "process"), readNumber(row, "number")];
    const before = newest.get(process) ?? readNumber(row, "sealed");
    if (number > before + 1) missing.push({ process, first: before + 1, last: number - 1 });
    newest.set(process, number);
  }
  return { sealed: Array.from(newest, ([process, last]) => ({ process, last })), missing };
}

function readWritten(row: Row): readonly Pick<NewRecord, "kind" | "requestId" | "record">[] {
  const text = Buffer.from(decompressedRecords(readBytes(row, "records"))).toString();
  return text.split("\n").map((line) => {
    const [kind, requestId = ""] = line.split(" ", 2);
    const record = line.slice(`${kind} ${requestId} `.length);
    return { kind: kind === "decision" ? "decision" : "outcome", requestId, record };
  });
}
