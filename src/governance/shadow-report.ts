import type { Identifier } from "../evidence/record.ts";
import type { ShadowMeasures } from "./measures.ts";
import { readLabels } from "./shadow-counts.ts";
import {
  addCell,
  addSum,
  emptySum,
  revisionCells,
  type CountedRevision,
  type CountSource,
  type ShadowSum,
} from "./shadow-figures.ts";

/** Most lines of a list; the others are added up under `null`. */
export const MAXIMUM_LINES = 1_000;

/** The reader of a report. */
export interface ShadowReader {
  readonly workspace: string;
  /** Whether other workspaces are named to it. */
  readonly seesAll: boolean;
}

/** Verdicts of a revision in shadow, over all hours in which it was evaluated. Every list is sorted by newly denied requests. */
export interface ShadowCountReport extends ShadowMeasures {
  readonly by_constraint: readonly ConstraintLine[];
  /** `null`: no route, or one that only workspaces use which the reader does not see. */
  readonly by_route: readonly (ShadowMeasures & { readonly route: Identifier | null })[];
  /** How many of `judged` are in no line of `by_route`: they were counted before routes were. */
  readonly judged_without_route: number;
  /** `null`: all workspaces together that the reader does not see. */
  readonly by_workspace: readonly (ShadowMeasures & { readonly workspace: Identifier | null })[];
}

/** Verdicts: a request that fails two constraints is in two lines. */
interface ConstraintLine extends Omit<ShadowMeasures, "judged"> {
  readonly constraint: Identifier | null;
  readonly reason: Identifier | null;
}

/**
 * Which workspaces see which (issue 10): workspaces that manage policies see every workspace, and so does the only workspace of a configuration where none is
 * named to manage them; every other one sees itself.
 *
 * @param managedBy `policies.managed_by`; `null` where it is absent.
 */
export function shadowReader(
  workspace: string,
  workspaces: readonly string[],
  managedBy: readonly string[] | null,
): ShadowReader {
  const isOnly = workspaces.every((other) => other === workspace);
  return { workspace, seesAll: managedBy === null ? isOnly : managedBy.includes(workspace) };
}

/** Adds up the counts of one revision. @param now milliseconds since the epoch. @throws {StoreUnavailableError} */
export async function shadowCountReport(
  source: CountSource,
  revision: CountedRevision,
  reader: ShadowReader,
  now: number,
): Promise<ShadowCountReport> {
  const totals = emptySum();
  const [byConstraint, byRoute, byWorkspace] = [new Lines(), new Lines(), new Lines()];
  for (const workspace of await source.workspaces()) {
    const isSeen = reader.seesAll || workspace === reader.workspace;
    for await (const { more, cell } of revisionCells(source, "shadow", workspace, revision, now)) {
      if (more !== null) {
        byConstraint.add(more, cell);
        continue;
      }
      addCell(totals, cell);
      byWorkspace.add(JSON.stringify([isSeen ? workspace : null]), cell);
    }
    for await (const { more, cell } of revisionCells(source, "shadow_route", workspace, revision, now)) {
      // The reader must not learn the routes of other workspaces.
      byRoute.add(isSeen && more !== null ? more : UNNAMED, cell);
    }
  }
  const routed = byRoute.judged;
  return {
    ...totals,
    by_constraint: byConstraint.finish(([constraint = null, reason = null], sum) => {
      const { would_deny, newly_denied, would_narrow, indeterminate } = sum;
      return { constraint, reason, would_deny, newly_denied, would_narrow, indeterminate };
    }),
    by_route: byRoute.finish(([route = null], sum) => ({ route, ...sum })),
    judged_without_route: Math.max(0, totals.judged - routed),
    by_workspace: byWorkspace.finish(([workspace = null], sum) => ({ workspace, ...sum })),
  };
}

/** Labels of what is not named. */
const UNNAMED = "[null]";

/** Sums by labels, as JSON. */
class Lines {
  readonly #sums = new Map<string, ShadowSum>();

  add(labels: string, cell: Uint8Array): void {
    addCell(this.#at(labels), cell);
  }

  get judged(): number {
    let judged = 0;
    for (const sum of this.#sums.values()) judged += sum.judged;
    return judged;
  }

  finish<Line>(line: (labels: readonly (Identifier | null)[], sum: ShadowMeasures) => Line): readonly Line[] {
    const rest =
      this.#sums.size > MAXIMUM_LINES ? [...this.#sums].toSorted(mostDeniedFirst).slice(MAXIMUM_LINES - 1) : [];
    for (const [labels, sum] of rest) {
      this.#sums.delete(labels);
      addSum(this.#at(UNNAMED), sum);
    }
    return [...this.#sums].toSorted(mostDeniedFirst).map(([labels, sum]) => line(readLabels(labels), sum));
  }

  #at(labels: string): ShadowSum {
    const known = this.#sums.get(labels) ?? emptySum();
    this.#sums.set(labels, known);
    return known;
  }
}

function mostDeniedFirst([leftName, left]: [string, ShadowSum], [rightName, right]: [string, ShadowSum]): number {
  const order = ["newly_denied", "would_deny", "would_narrow", "indeterminate", "judged"] as const;
  for (const name of order) if (left[name] !== right[name]) return right[name] - left[name];
  return leftName < rightName ? -1 : 1;
}
