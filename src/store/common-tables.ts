import { holderText, type Person } from "../canon/identity.ts";
import { isJsonObject, parseJson } from "../canon/json.ts";
import { LIMIT_MEASURES, LIMIT_WINDOWS } from "../canon/limits.ts";
import type { SummaryStore } from "../governance/increments.ts";
import type {
  IssuerStore,
  KeyRecord,
  KeyStore,
  SessionRecord,
  SessionStore,
} from "../keys/key-store.ts";
import type { LimitStore, LimitUse } from "../limits/limit-store.ts";
import { windowBounds } from "../limits/windows.ts";
import {
  readBytes,
  readKeyRecord,
  readNumber,
  readText,
  readTextOrNull,
  readTexts,
  type Row,
} from "./rows.ts";

export const KEY_COLUMNS = `id, digest, workspace, scopes, owner, environment, workload, labels, expires_at, created_at,
  created_by, last_used_at, rotated_from, replaced_by, status, revoked_at, exchange, limits, lineage, name, version`;

const KEYS = `SELECT ${KEY_COLUMNS} FROM keys`;

/** Statements of both engines by the calls that run them; PostgreSQL writes `$1` for `?1`. */
export const COMMON_SQL = {
  "keys.get": `${KEYS} WHERE id = ?1`,
  "keys.list": `${KEYS} ORDER BY created_at DESC, id`,
  "keys.listOfWorkspace": `${KEYS} WHERE workspace = ?1 ORDER BY created_at DESC, id`,
  "keys.page": `${KEYS} WHERE workspace = ?1 AND created_at <= ?2 AND (created_at < ?2 OR id > ?3) ORDER BY created_at DESC, id LIMIT ?4`,
  "keys.pageExpiring": `${KEYS} WHERE workspace = ?1 AND status = 'active' AND replaced_by IS NULL AND expires_at > ?2 AND expires_at < ?3
    AND expires_at >= ?4 AND (expires_at > ?4 OR id > ?5) ORDER BY expires_at, id LIMIT ?6`,
  "keys.countActive":
    "SELECT count(*) AS count FROM (SELECT 1 FROM keys WHERE workspace = ?1 AND status = 'active' AND expires_at > ?2 LIMIT ?3) AS active",
  "sessions.create":
    "INSERT INTO sessions (digest, holder, key_id, person, created_at, seen_at, ends_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
  "sessions.find":
    "SELECT digest, key_id, person, created_at, seen_at, ends_at FROM sessions WHERE digest = ?1",
  "sessions.touch": "UPDATE sessions SET seen_at = ?2 WHERE digest = ?1 AND seen_at < ?2",
  "sessions.endSession": "DELETE FROM sessions WHERE digest = ?1",
  "sessions.prune": "DELETE FROM sessions WHERE ends_at <= ?1 OR seen_at <= ?2 RETURNING digest",
  "issuers.publish":
    "INSERT INTO issuers (kid, public_key, expires_at) VALUES (?1, ?2, ?3) ON CONFLICT (kid) DO NOTHING",
  "issuers.list":
    "SELECT kid, public_key, expires_at FROM issuers WHERE expires_at > ?1 ORDER BY kid",
  "issuers.prune": "DELETE FROM issuers WHERE expires_at <= ?1 RETURNING kid",
  "limits.readCounters": `SELECT subject, measure, period, start, used FROM limit_counters
    WHERE (start IN (?1, ?2) AND start = CASE period WHEN 'minute' THEN CAST(?1 AS bigint) WHEN 'hour' THEN ?2 END)
      OR (period IN ('day', 'week', 'month') AND start > ?5 AND start <= ?6
        AND start > CASE period WHEN 'day' THEN CAST(?3 AS bigint) WHEN 'week' THEN ?4 ELSE ?5 END)
    ORDER BY subject, measure, period, start`,
  "limits.readSlots":
    "SELECT subject, CAST(sum(held) AS bigint) AS held FROM limit_slots WHERE until > ?1 GROUP BY subject ORDER BY subject",
  "policyLog.head": "SELECT position, hash FROM policy_log ORDER BY position DESC LIMIT 1",
  "policyLog.read":
    "SELECT position, previous, hash, record FROM policy_log WHERE position > ?1 ORDER BY position LIMIT ?2",
  "policyLog.content":
    "SELECT digest, policy, description, module FROM policy_contents WHERE digest = ?1",
  "summary.read": `SELECT hour, labels, cell FROM roll_ups
    WHERE workspace = ?1 AND facet = ?2 AND (hour, labels) > (?3, ?4) AND hour < ?5 ORDER BY hour, labels LIMIT ?6`,
  // Skips from one workspace to the next by the index, instead of scanning all cells.
  "summary.workspaces": `WITH RECURSIVE found AS (
      SELECT min(workspace) AS workspace FROM roll_ups
      UNION ALL
      SELECT (SELECT min(following.workspace) FROM roll_ups AS following WHERE following.workspace > found.workspace)
      FROM found WHERE found.workspace IS NOT NULL)
    SELECT workspace FROM found WHERE workspace IS NOT NULL ORDER BY workspace`,
} as const;

/**
 * Runs a statement, a transaction of its own, and gives its rows. @throws {StoreUnavailableError}
 */
export type RunCommon = (
  name: keyof typeof COMMON_SQL,
  parameters?: readonly (string | number | null)[],
) => Promise<readonly Row[]>;

/** Rows read at a time: a page keeps an engine from other work for a few milliseconds at most. */
export const PAGE = 1_000;

export function keyReads(run: RunCommon): Pick<KeyStore, "get" | "list" | "page" | "countActive"> {
  return {
    async get(id) {
      const [row] = await run("keys.get", [id]);
      return row === undefined ? null : readKeyRecord(row);
    },
    async list({ workspace } = {}) {
      const rows =
        workspace === undefined ? run("keys.list") : run("keys.listOfWorkspace", [workspace]);
      return (await rows).map(readKeyRecord);
    },
    async page({ workspace, expiring, after, limit }) {
      if (expiring === null) {
        const { createdAt, id } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
        return (await run("keys.page", [workspace, createdAt, id, limit])).map(readKeyRecord);
      }
      const { expiresAt, id } = after ?? { expiresAt: 0, id: "" };
      const bounds = [workspace, expiring.after, expiring.before, expiresAt, id, limit];
      return (await run("keys.pageExpiring", bounds)).map(readKeyRecord);
    },
    async countActive(workspace, now, most) {
      return readNumber((await run("keys.countActive", [workspace, now, most]))[0], "count");
    },
  };
}

export function sessionsOver(run: RunCommon): SessionStore {
  return {
    async create({ digest, holder, createdAt, seenAt, endsAt }) {
      const columns = holderColumns(holder);
      await run("sessions.create", [
        digest,
        holderText(holder),
        ...columns,
        createdAt,
        seenAt,
        endsAt,
      ]);
    },
    async find(digest) {
      const [row] = await run("sessions.find", [digest]);
      return row === undefined ? null : readSession(row);
    },
    async touch(digest, at) {
      await run("sessions.touch", [digest, Math.trunc(at)]);
    },
    async endSession(digest) {
      await run("sessions.endSession", [digest]);
    },
    async prune(now, idleSince) {
      return (await run("sessions.prune", [Math.trunc(now), Math.trunc(idleSince)])).length;
    },
  };
}

/** The columns `key_id` and `person`: one of them is `null`. */
function holderColumns(holder: SessionRecord["holder"]): readonly [string | null, string | null] {
  if ("key" in holder) return [holder.key, null];
  const { issuer, subject, name, groups } = holder;
  return [null, JSON.stringify({ issuer, subject, name, groups })];
}

function readSession(row: Row): SessionRecord {
  const key = readTextOrNull(row, "key_id");
  return {
    digest: readText(row, "digest"),
    holder: key === null ? readPerson(readText(row, "person")) : { key },
    createdAt: readNumber(row, "created_at"),
    seenAt: readNumber(row, "seen_at"),
    endsAt: readNumber(row, "ends_at"),
  };
}

function readPerson(text: string): Person {
  const value = parseJson(text);
  if (!isJsonObject(value)) throw new TypeError("column person holds no object");
  return {
    issuer: readText(value, "issuer"),
    subject: readText(value, "subject"),
    name: readTextOrNull(value, "name"),
    groups: readTexts(value, "groups"),
  };
}

/** How often issuers are read, milliseconds; the port promises one second. */
const POLL = 400;

/** Issuers of exchanged tokens. There are about as many as processes, so polling is cheap. */
export function issuersOver(run: RunCommon): IssuerStore {
  const list: IssuerStore["list"] = async (now) =>
    (await run("issuers.list", [Math.trunc(now)])).map((row) => ({
      kid: readText(row, "kid"),
      publicKey: readText(row, "public_key"),
      expiresAt: readNumber(row, "expires_at"),
    }));
  return {
    async publish({ kid, publicKey, expiresAt }) {
      await run("issuers.publish", [kid, publicKey, expiresAt]);
    },
    list,
    async watch(listener) {
      let reported: string | null = null;
      const look = async () => {
        const records = await list(Date.now());
        const kids = records.map(({ kid }) => kid).join();
        if (kids !== reported) listener(records);
        reported = kids;
      };
      await look();
      const timer = setInterval(() => void look().catch(() => undefined), POLL);
      timer.unref();
      return () => clearInterval(timer);
    },
    async prune(before) {
      return (await run("issuers.prune", [Math.trunc(before)])).length;
    },
  };
}

export function limitReads(run: RunCommon): Pick<LimitStore, "read"> {
  return {
    async read(now) {
      const at = Math.trunc(now);
      const counters = await run("limits.readCounters", [...windowBounds(at), at]);
      const slots = await run("limits.readSlots", [at]);
      return {
        counters: counters.map(readLimitUse),
        slots: slots.map((row) => ({
          subject: readText(row, "subject"),
          held: readNumber(row, "held"),
        })),
      };
    },
  };
}

/** @throws {TypeError} for a measure or window that is none */
function readLimitUse(row: Row): LimitUse {
  const [measure, period] = [readText(row, "measure"), readText(row, "period")];
  const knownMeasure = LIMIT_MEASURES.find((one) => one === measure);
  const window = LIMIT_WINDOWS.find((one) => one === period);
  if (knownMeasure === undefined || window === undefined)
    throw new TypeError("limit_counters: an unknown measure or window");
  return {
    subject: readText(row, "subject"),
    measure: knownMeasure,
    window,
    start: readNumber(row, "start"),
    used: readNumber(row, "used"),
  };
}

/** Hourly counts. @param countAll counts everything that was written before */
export function summaryOver(run: RunCommon, countAll: () => Promise<unknown>): SummaryStore {
  return {
    async *read({ workspace, facet, from, until }) {
      await countAll();
      for (let [hour, labels] = [from, ""]; ;) {
        const rows = await run("summary.read", [workspace ?? "", facet, hour, labels, until, PAGE]);
        const page = rows.map((row) => ({
          workspace,
          facet,
          hour: readNumber(row, "hour"),
          labels: readText(row, "labels"),
          cell: readBytes(row, "cell"),
        }));
        if (page.length > 0) yield page;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return;
        ({ hour, labels } = last);
      }
    },
    async workspaces() {
      await countAll();
      const names = (await run("summary.workspaces")).map((row) => readText(row, "workspace"));
      return names.map((name) => (name === "" ? null : name));
    },
  };
}

export type KeyListener = (records: readonly KeyRecord[]) => void;

/** Listeners to key changes. Later ones need all records, and the engine sends changes only. */
export function keyWatchers() {
  const listeners = new Set<KeyListener>();
  const lastRecords = new Map<string, KeyRecord>();
  let started: Promise<void> | null = null;

  return {
    get size(): number {
      return listeners.size;
    },
    /** @param start requests all records and later changes; called for the first listener only */
    async add(listener: KeyListener, start: () => Promise<void>): Promise<() => void> {
      started ??= start();
      try {
        await started;
      } catch (error) {
        started = null;
        throw error;
      }
      // No await between these two lines: a change in between would be lost.
      listener([...lastRecords.values()]);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    publish(records: readonly KeyRecord[]): void {
      for (const record of records) lastRecords.set(record.id, record);
      if (records.length > 0) for (const listener of listeners) listener(records);
    },
  };
}
