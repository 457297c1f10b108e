import type { ShadowFigures } from "../lifecycle/records.ts";
import { encodedCount } from "./cell.ts";
import type { Facet, RollUpQuery, RollUpRow } from "./increments.ts";
import type { ShadowMeasures } from "./measures.ts";
import { HOUR } from "./roll-up.ts";

/** Hourly counts of every workspace: the store's summary. */
export interface CountSource {
  readonly read: (query: RollUpQuery) => AsyncIterable<readonly RollUpRow[]>;
  /** Those with a count in any hour; `null` for requests without an accepted key. */
  readonly workspaces: () => Promise<readonly (string | null)[]>;
}

/** A revision whose counts are wanted. */
export interface CountedRevision {
  readonly policy: string;
  readonly revision: number;
  /** When the revision was first seen, milliseconds since the epoch: it has no counts from before. */
  readonly firstSeen: number;
}

/** Numbers that are still added to. */
export type ShadowSum = { -readonly [Name in keyof ShadowMeasures]: number };

/**
 * Verdicts of a revision in shadow, over all workspaces and all hours in which it was evaluated. A candidate that comes back keeps its earlier hours.
 *
 * @param revision its number, as the policy log gives it. @param since when it entered its slot, milliseconds since the epoch; given back.
 * @param now likewise. @param firstSeen likewise; hours before it are not read. @throws {StoreUnavailableError}
 */
export async function shadowFigures(
  source: CountSource,
  policy: string,
  revision: number,
  since: number,
  now: number,
  firstSeen: number = since,
): Promise<ShadowFigures> {
  const sum = emptySum();
  for (const workspace of await source.workspaces()) {
    for await (const { more, cell } of revisionCells(
      source,
      "shadow",
      workspace,
      { policy, revision, firstSeen },
      now,
    )) {
      // Cells with a constraint hold verdicts: a request that fails two constraints would count twice.
      if (more === null) addCell(sum, cell);
    }
  }
  const { judged, would_deny, newly_denied, would_narrow, indeterminate } = sum;
  return { since, judged, wouldDeny: would_deny, newlyDenied: newly_denied, wouldNarrow: would_narrow, indeterminate };
}

/** A cell of a revision, and the labels that follow policy and revision, as JSON: `null` where there are none. */
interface RevisionCell {
  readonly more: string | null;
  readonly cell: Uint8Array;
}

/** A revision's cells of one workspace. Labels are compared as text: parsing those of all other revisions would take longer than reading them. */
export async function* revisionCells(
  source: Pick<CountSource, "read">,
  facet: Extract<Facet, "shadow" | "shadow_route">,
  workspace: string | null,
  { policy, revision, firstSeen }: CountedRevision,
  now: number,
): AsyncGenerator<RevisionCell> {
  // An hour more on both sides: another replica's clock may differ, and no other hour has this revision's cells.
  const hours = { from: Math.max(0, Math.floor(firstSeen / HOUR) - 1), until: Math.floor(now / HOUR) + 2 };
  const own = JSON.stringify([policy, `r${revision}`]);
  const longer = `${own.slice(0, -1)},`;
  for await (const rows of source.read({ workspace, facet, ...hours })) {
    for (const { labels, cell } of rows) {
      if (labels === own) yield { more: null, cell };
      else if (labels.startsWith(longer)) yield { more: `[${labels.slice(longer.length)}`, cell };
    }
  }
}

export function emptySum(): ShadowSum {
  return { judged: 0, would_deny: 0, newly_denied: 0, would_narrow: 0, indeterminate: 0 };
}

const MEASURES = ["judged", "would_deny", "newly_denied", "would_narrow", "indeterminate"] as const;

export function addCell(sum: ShadowSum, cell: Uint8Array): void {
  for (const name of MEASURES) sum[name] += encodedCount(cell, name);
}

export function addSum(sum: ShadowSum, more: ShadowMeasures): void {
  for (const name of MEASURES) sum[name] += more[name];
}
