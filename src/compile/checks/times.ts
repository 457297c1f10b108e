import type { ProviderRow } from "../../canon/table.ts";
import { describeSafely, quote } from "../authored/literal-secrets.ts";
import type { AuthoredProvider } from "../routes-schema.ts";
import type { Path } from "../authored/tree.ts";
import type { Report } from "../findings/findings.ts";
import { LONGEST_DURATION, milliseconds } from "../normalised/durations.ts";
import type { CompileContext } from "../compile-context.ts";

/** Times of the providers against what timers can hold, and against each other. */
export function checkTimes({ file, normalised, report }: CompileContext): void {
  for (const provider of normalised.providers.values()) {
    const authored = file.providers[provider.id];
    if (authored === undefined) continue;
    checkTimeouts(report, provider, authored);
    checkQueue(report, provider, authored);
    checkHealth(report, provider, authored);
  }
}

/**
 * Reports a duration that is longer than any may be. @returns whether it may be compared with
 * others.
 */
export function checkDuration(report: Report, path: Path, duration: string): boolean {
  if (milliseconds(duration) <= LONGEST_DURATION) return true;
  report.value("WRONG_VALUE", path, `${describeSafely(path)} must be at most 24h`, "");
  return false;
}

function checkTimeouts(
  report: Report,
  { id, timeouts }: ProviderRow,
  { timeouts: authored = {} }: AuthoredProvider,
): void {
  const path = ["providers", id, "timeouts"];
  for (const [name, duration] of Object.entries(authored)) {
    const location = [...path, name];
    if (
      !checkDuration(report, location, duration) ||
      name === "total" ||
      milliseconds(duration) <= timeouts.total
    )
      continue;
    const message = `\`${name}\` of provider ${quote(id)} is longer than its \`total\``;
    report.value("TIMEOUT_ORDER", location, message, "shorten it, or lengthen `total`");
  }
  if (timeouts.firstToken >= timeouts.connect) return;
  const location = [...path, authored.first_token === undefined ? "connect" : "first_token"];
  const message = `\`first_token\` of provider ${quote(id)} is shorter than its \`connect\``;
  report.value("TIMEOUT_ORDER", location, message, "lengthen `first_token`, or shorten `connect`");
}

function checkQueue(
  report: Report,
  { id, timeouts, queue }: ProviderRow,
  { queue: authored }: AuthoredProvider,
): void {
  const path = ["providers", id, "queue", "wait"];
  if (authored === undefined) return;
  if (authored.wait !== undefined && !checkDuration(report, path, authored.wait)) return;
  if (queue.wait <= timeouts.total) return;
  const message = `requests may wait longer in the queue of provider ${quote(id)} than its \`timeouts.total\``;
  report.value("TIMEOUT_ORDER", path, message, "shorten `wait`, or lengthen `total`");
}

function checkHealth(
  report: Report,
  { id, health }: ProviderRow,
  { health: authored = {} }: AuthoredProvider,
): void {
  const path = ["providers", id, "health"];
  for (const name of ["window", "ejection", "longest_ejection"] as const) {
    const duration = authored[name];
    if (duration !== undefined) checkDuration(report, [...path, name], duration);
  }
  const interval = authored.probe?.interval;
  if (interval !== undefined) checkDuration(report, [...path, "probe", "interval"], interval);
  if (health.ejection <= health.longestEjection) return;
  const location = [...path, authored.ejection === undefined ? "longest_ejection" : "ejection"];
  const message = `\`ejection\` of provider ${quote(id)} is longer than its \`longest_ejection\``;
  report.value("EJECTION_ORDER", location, message, "shorten it, or lengthen `longest_ejection`");
}
