import type { Identifier } from "../evidence/record.ts";
import type { ShadowFigures } from "../lifecycle/records.ts";
import { addTo, Cell } from "./cell.ts";
import { HOUR } from "./roll-up.ts";
import { readLabels, shadowMeasures, type ShadowMeasures } from "./measures.ts";
import type { Facet, SummaryStore } from "./increments.ts";

/** Most lines of a list; the others are added up under `null`. */
export const MAXIMUM_LINES = 1_000;

/** A revision whose counts are wanted. */
interface CountedRevision {
  readonly policy: string;
  readonly revision: number;
  /**
   * When the revision was first seen, milliseconds since the epoch: it has no counts from before.
   */
  readonly firstSeen: number;
}

/**
 * Verdicts of a revision in shadow, over all workspaces and all hours in which it was evaluated. A
 * candidate that comes back keeps its earlier hours.
 *
 * @param revision its number, as the policy log gives it. @param since when it entered its slot,
 * milliseconds since the epoch; given back.
 * @param now likewise. @param firstSeen likewise; hours before it are not read. @throws
 * {StoreUnavailableError}
 */
export async function shadowFigures(
  source: SummaryStore,
  policy: string,
  revision: number,
  since: number,
  now: number,
  firstSeen: number,
): Promise<ShadowFigures> {
  const sum = new Cell();
  const revisionKey = { policy, revision, firstSeen };
  for (const workspace of await source.workspaces()) {
    for await (const { more, cell } of revisionCells(
      source,
      "shadow",
      workspace,
      revisionKey,
      now,
    )) {
      // Cells with a constraint hold verdicts: a request that fails two constraints would count
      // twice.
      if (more === null) sum.addEncoded(cell);
    }
  }
  const { judged, would_deny, newly_denied, would_narrow, indeterminate } = shadowMeasures(sum);
  return {
    since,
    judged,
    wouldDeny: would_deny,
    newlyDenied: newly_denied,
    wouldNarrow: would_narrow,
    indeterminate,
  };
}

/** The reader of a report. */
export interface ShadowReader {
  readonly workspace: string;
  /** Whether other workspaces are named to it. */
  readonly seesAll: boolean;
}

/**
 * Which workspaces see which (issue 10): workspaces that manage policies see every workspace, and
 * so does the only workspace of a configuration where none is named to manage them; every other one
 * sees itself.
 *
 * @param managedBy `policies.managed_by`; `null` where it is absent.
 */
export function shadowReader(
  workspace: string,
  workspaces: readonly string[],
  managedBy: readonly string[] | null,
): ShadowReader {
  const isOnlyWorkspace = workspaces.every((other) => other === workspace);
  return {
    workspace,
    seesAll: managedBy === null ? isOnlyWorkspace : managedBy.includes(workspace),
  };
}

/**
 * Verdicts of a revision in shadow, over all hours in which it was evaluated. Every list is sorted
 * by newly denied requests.
 *
 * @param now milliseconds since the epoch. @throws {StoreUnavailableError}
 */
export async function shadowCountReport(
  source: SummaryStore,
  revision: CountedRevision,
  reader: ShadowReader,
  now: number,
) {
  const totals = new Cell();
  const [byConstraint, byRoute, byWorkspace] = [new Lines(), new Lines(), new Lines()];
  for (const workspace of await source.workspaces()) {
    const isVisible = reader.seesAll || workspace === reader.workspace;
    for await (const { more, cell } of revisionCells(source, "shadow", workspace, revision, now)) {
      if (more !== null) {
        byConstraint.add(more, cell);
        continue;
      }
      totals.addEncoded(cell);
      byWorkspace.add(JSON.stringify([isVisible ? workspace : null]), cell);
    }
    for await (const { more, cell } of revisionCells(
      source,
      "shadow_route",
      workspace,
      revision,
      now,
    )) {
      // The reader must not learn the routes of other workspaces.
      byRoute.add(isVisible && more !== null ? more : UNNAMED, cell);
    }
  }
  return {
    ...shadowMeasures(totals),
    // A request that fails two constraints is in two lines.
    by_constraint: byConstraint.finish(([constraint = null, reason = null], sum) => {
      const { judged: _, ...measures } = sum;
      return { constraint, reason, ...measures };
    }),
    // `null`: no route, or one that only workspaces use which the reader does not see.
    by_route: byRoute.finish(([route = null], sum) => ({ route, ...sum })),
    // Counted before routes were.
    judged_without_route: Math.max(0, totals.get("judged") - byRoute.judged),
    // `null`: all workspaces together that the reader does not see.
    by_workspace: byWorkspace.finish(([workspace = null], sum) => ({ workspace, ...sum })),
  };
}

export type ShadowCountReport = Awaited<ReturnType<typeof shadowCountReport>>;

/**
 * A revision's cells of one workspace, and the labels that follow policy and revision, as JSON:
 * `null` where there are none. Labels are compared as text: parsing those of all other revisions
 * would take longer than reading them.
 */
async function* revisionCells(
  source: Pick<SummaryStore, "read">,
  facet: Extract<Facet, "shadow" | "shadow_route">,
  workspace: string | null,
  { policy, revision, firstSeen }: CountedRevision,
  now: number,
) {
  // An hour more on both sides: another replica's clock may differ, and no other hour has this
  // revision's cells.
  const hours = {
    from: Math.max(0, Math.floor(firstSeen / HOUR) - 1),
    until: Math.floor(now / HOUR) + 2,
  };
  const revisionLabels = JSON.stringify([policy, `r${revision}`]);
  const longer = `${revisionLabels.slice(0, -1)},`;
  for await (const rows of source.read({ workspace, facet, ...hours })) {
    for (const { labels, cell } of rows) {
      if (labels === revisionLabels) yield { more: null, cell };
      else if (labels.startsWith(longer)) yield { more: `[${labels.slice(longer.length)}`, cell };
    }
  }
}

/** Labels of routes that are not named. */
const UNNAMED = "[null]";

/** Sums by labels, as JSON. */
class Lines {
  readonly #sums = new Map<string, Cell>();

  add(labels: string, cell: Uint8Array): void {
    addTo(this.#sums, labels, cell);
  }

  get judged(): number {
    return this.#sums.values().reduce((judged, sum) => judged + sum.get("judged"), 0);
  }

  finish<Line>(
    line: (labels: readonly (Identifier | null)[], sum: ShadowMeasures) => Line,
  ): readonly Line[] {
    const rest = this.#sums.size > MAXIMUM_LINES ? this.#sorted().slice(MAXIMUM_LINES - 1) : [];
    for (const [labels, sum] of rest) {
      this.#sums.delete(labels);
      this.add(UNNAMED, sum.encode());
    }
    return this.#sorted().map(([labels, sum]) => line(readLabels(labels), shadowMeasures(sum)));
  }

  #sorted(): readonly [string, Cell][] {
    return [...this.#sums].toSorted(mostDeniedFirst);
  }
}

function mostDeniedFirst(
  [leftName, left]: [string, Cell],
  [rightName, right]: [string, Cell],
): number {
  for (const name of [
    "newly_denied",
    "would_deny",
    "would_narrow",
    "indeterminate",
    "judged",
  ] as const) {
    if (left.get(name) !== right.get(name)) return right.get(name) - left.get(name);
  }
  return leftName < rightName ? -1 : 1;
}
