import { formatTime } from "../canon/rfc3339.ts";
import { createHmac, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { AlertEvent, AlertSettings, RoutingTable, SecretReference } from "../canon/table.ts";
import type { PostJson } from "../dispatch/fetch-json.ts";
import type { EvidenceHealth } from "../evidence/evidence-store.ts";
import { encodedCount } from "../governance/cell.ts";
import type { SummaryStore } from "../governance/increments.ts";
import { readLabels } from "../governance/measures.ts";
import { HOUR } from "../governance/roll-up.ts";
import type { LimitStore } from "../limits/limit-store.ts";
import type { BudgetLevels } from "../limits/usage.ts";

/** A condition that holds. Event and subject identify it from check to check. */
interface Alert {
  readonly event: AlertEvent;
  /** Workspace, policy or file; empty for the whole installation. */
  readonly subject: string;
  readonly summary: string;
}

export interface AlertSources {
  readonly table: () => RoutingTable;
  readonly budgets: Pick<BudgetLevels, "usesOfWorkspaces">;
  /** Workspace → keys that expire before the moment and have no replacement. */
  readonly keysExpiring: (now: number, before: number) => ReadonlyMap<string, number>;
  /** When the certificate of the public listener expires; `null` without TLS. */
  readonly certificateExpiry: () => number | null;
  readonly evidence: () => Pick<EvidenceHealth, "state">;
  readonly summary: SummaryStore;
  readonly limits: Pick<LimitStore, "lease">;
}

interface AlertOptions {
  readonly post: PostJson;
  readonly secretOf: (reference: SecretReference) => string;
  /** Called for each message that was not delivered. */
  readonly failed: (event: AlertEvent) => void;
  readonly now: () => number;
  /** Milliseconds between two checks. */
  readonly interval?: number;
}

const CHECK_INTERVAL = 30_000;

/** A sender that misses two checks is replaced. */
const LEASE_CHECKS = 3;

const DAY = 24 * HOUR;

/** Keys and certificates are reported this long before they expire. */
export const EXPIRY_NOTICE = { keys: 7 * DAY, certificate: 14 * DAY } as const;

const NEARLY_SPENT = 0.8;

/**
 * Denials or refusals rise when an hour has so many times as many as the mean of the day before.
 */
const RISE = 3;

/** Fewer in an hour are noise. */
const LEAST_RISE = 20;

/**
 * Checks the conditions of `alerts` in routes.yaml and sends a message when one begins and when it
 * ends. Of several replicas the holder of a lease in the store sends; after a change of the sender,
 * conditions that still hold are sent again.
 *
 * @example
 *   const stop = startAlerts(sources, { post: jsonPoster(), secretOf, failed, now: Date.now });
 *   // …
 *   await stop();
 */
export function startAlerts(sources: AlertSources, options: AlertOptions): () => Promise<void> {
  const { now, interval = CHECK_INTERVAL } = options;
  const holder = randomUUID();
  const sentAlerts = new Map<string, Alert>();
  const holdsLease = async (want: 0 | 1): Promise<boolean> => {
    const slots = [{ subject: "alerts", ceiling: 1, inUse: 0, want }];
    const until = now() + LEASE_CHECKS * interval;
    const leased = await sources.limits.lease({ holder, now: now(), until, counters: [], slots });
    return leased.slots[0]?.held === 1;
  };
  const deliver = async (
    settings: AlertSettings,
    status: "firing" | "resolved",
    { event, subject, summary }: Alert,
  ): Promise<boolean> => {
    const at = now();
    const message = { version: 1, id: randomUUID(), event, status, subject, summary };
    const body = JSON.stringify({ ...message, at: formatTime(at) });
    const { url, network = "public", secret: reference } = settings;
    const secret = options.secretOf(reference);
    // Without a secret anyone could sign.
    const isDelivered =
      secret !== "" &&
      (await options.post(url, network, body, {
        "x-signalbox-signature": signatureOf(secret, at, body),
      }));
    if (!isDelivered) options.failed(event);
    return isDelivered;
  };
  const check = async (): Promise<void> => {
    const settings = sources.table().alerts;
    if (settings === undefined || !(await holdsLease(1))) return sentAlerts.clear();
    const alerts = await currentAlerts(sources, now());
    const firing = new Map(
      alerts
        .filter(({ event }) => settings.events.includes(event))
        .map((alert) => [`${alert.event} ${alert.subject}`, alert]),
    );
    for (const [id, alert] of firing)
      if (!sentAlerts.has(id) && (await deliver(settings, "firing", alert)))
        sentAlerts.set(id, alert);
    for (const [id, alert] of sentAlerts)
      if (!firing.has(id) && (await deliver(settings, "resolved", alert))) sentAlerts.delete(id);
  };
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    // A store that fails is an alert only where it can be seen without the store.
    running ??= check()
      .catch(() => undefined)
      .finally(() => (running = null));
  }, interval);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
    if (sources.table().alerts !== undefined) await holdsLease(0).catch(() => false);
  };
}

/**
 * The header of a message: its time in seconds, and the HMAC-SHA256 of time, full stop and body.
 *
 * @example signatureOf("key", 1_700_000_000_000, "{}") // "t=1700000000,v1=5cd9…"
 */
export function signatureOf(secret: string, at: number, body: string): string {
  const time = Math.floor(at / 1_000);
  return `t=${time},v1=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`;
}

/** Reads a secret of routes.yaml; empty where it is not set. */
export function secretReader(
  config: string,
  environment: Readonly<Record<string, string | undefined>>,
): (reference: SecretReference) => string {
  return (reference) => {
    if ("env" in reference) return environment[reference.env] ?? "";
    try {
      return readFileSync(resolve(dirname(config), reference.file), "utf8").replace(/\r?\n$/, "");
    } catch {
      return "";
    }
  };
}

async function currentAlerts(sources: AlertSources, now: number): Promise<readonly Alert[]> {
  const evidence = sources.evidence().state;
  const alerts = [...budgetAlerts(sources), ...expiryAlerts(sources, now)];
  if (evidence !== "ok") {
    const summary = "Evidence cannot be written; requests may be refused. Look at the store.";
    alerts.push({ event: "evidence_unavailable", subject: "", summary });
  }
  // The counts are in the store too: without them the other conditions are still reported.
  return [...alerts, ...(await countAlerts(sources.summary, now).catch(() => []))];
}

function budgetAlerts({ table, budgets }: AlertSources): readonly Alert[] {
  return budgets
    .usesOfWorkspaces(table().workspaces)
    .flatMap(({ id, measure, window, limit, used }): Alert[] => {
      const share = limit === 0 ? 1 : used / limit;
      if (share < NEARLY_SPENT) return [];
      const budget = `budget of ${measure === "micro_usd" ? "dollars" : measure} a ${window}`;
      const summary = `Workspace ${id} has used ${Math.floor(share * 100)} % of its ${budget}.`;
      return [{ event: share < 1 ? "budget_nearly_spent" : "budget_spent", subject: id, summary }];
    });
}

function expiryAlerts({ keysExpiring, certificateExpiry }: AlertSources, now: number): Alert[] {
  const alerts: Alert[] = [...keysExpiring(now, now + EXPIRY_NOTICE.keys)].map(
    ([workspace, count]) => ({
      event: "keys_expiring",
      subject: workspace,
      summary: `Within 7 days ${count} keys of workspace ${workspace} expire that have no replacement.`,
    }),
  );
  const expiry = certificateExpiry();
  if (expiry !== null && expiry - now < EXPIRY_NOTICE.certificate) {
    const summary = `The certificate of --tls-cert expires at ${formatTime(expiry)}.`;
    alerts.push({ event: "certificate_expiring", subject: "", summary });
  }
  return alerts;
}

/** The running hour and the one before are compared with the 24 hours before them. */
async function countAlerts(store: SummaryStore, now: number): Promise<readonly Alert[]> {
  const until = Math.floor(now / HOUR) + 1;
  const recent = until - 2;
  const hours = 1 + (now % HOUR) / HOUR;
  const counts = { denied: { now: 0, before: 0 }, refused: { now: 0, before: 0 } };
  const candidates = new Map<string, number>();
  for (const workspace of await store.workspaces()) {
    for await (const rows of store.read({
      workspace,
      facet: "total",
      from: recent - 24,
      until,
    })) {
      for (const { hour, cell } of rows) {
        const period = hour < recent ? "before" : "now";
        counts.denied[period] += encodedCount(cell, "denied");
        counts.refused[period] += encodedCount(cell, "refused");
      }
    }
    for await (const rows of store.read({ workspace, facet: "shadow", from: recent, until })) {
      for (const { labels, cell } of rows) {
        const [policy, revision, ...verdict] = readLabels(labels);
        if (policy == null || revision == null || verdict.length > 0) continue;
        const id = `${policy}@${revision}`;
        const denied = encodedCount(cell, "newly_denied");
        if (denied > 0) candidates.set(id, (candidates.get(id) ?? 0) + denied);
      }
    }
  }
  const rising = (event: AlertEvent, name: keyof typeof counts, title: string): Alert[] => {
    const { now: latest, before } = counts[name];
    const [perHour, usual] = [latest / hours, before / 24];
    if (perHour < LEAST_RISE || perHour < RISE * usual) return [];
    const summary = `${title}: ${Math.round(perHour)} in an hour; the mean of the day before is ${usual.toFixed(1)}.`;
    return [{ event, subject: "", summary }];
  };
  return [
    ...rising("denials_rising", "denied", "More requests are denied"),
    ...rising("refusals_rising", "refused", "More requests are refused before a decision"),
    ...[...candidates].map(([subject, count]): Alert => ({
      event: "candidate_would_deny",
      subject,
      summary: `In two hours the candidate ${subject} would have denied ${count} requests that were allowed.`,
    })),
  ];
}
