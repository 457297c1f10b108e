import { asIdentifier, type Identifier } from "../evidence/record.ts";
import { addTo, Cell } from "./cell.ts";
import { shadowMeasures, type ShadowMeasures } from "./measures.ts";
import { parseJson } from "../canon/json.ts";

/** Verdicts of one revision in shadow about the requests that it judged. */
export interface ShadowPolicy extends ShadowMeasures {
  readonly policy: Identifier;
  readonly revision: Identifier;
  /** Its verdicts against them. A request can be in several. */
  readonly verdicts: readonly ShadowVerdict[];
}

interface ShadowVerdict extends Omit<ShadowMeasures, "judged"> {
  readonly constraint: Identifier | null;
  readonly reason_code: Identifier | null;
}

/** Adds up cells of the facet `shadow`. */
export class ShadowCounts {
  /** By labels. */
  readonly #cells = new Map<string, Cell>();
  /** Whose `judged` belongs to what was added; kept by the caller. */
  readonly judgedBy = new Set<string>();

  /** For the order of groups. */
  get size(): number {
    let size = 0;
    for (const cell of this.#cells.values())
      size += cell.get("would_deny") + cell.get("would_narrow");
    return size;
  }

  add(labels: string, cell: Uint8Array): void {
    addTo(this.#cells, labels, cell);
  }

  /** All that was added, as parts of `judged`. */
  sum(judged: number): ShadowMeasures {
    const sum = new Cell();
    for (const cell of this.#cells.values()) sum.addEncoded(cell.encode());
    return shadowMeasures(sum, judged);
  }

  /** By revision, sorted by policy and revision; at most `limit` verdicts of each. */
  finish(limit: number): readonly ShadowPolicy[] {
    const revisions = [...this.#cells].flatMap(([labels, cell]) => {
      const [policy, revision, ...verdict] = readLabels(labels);
      if (policy == null || revision == null || verdict.length > 0) return [];
      return [
        {
          policy,
          revision,
          ...shadowMeasures(cell),
          verdicts: this.#verdicts(policy, revision, limit),
        },
      ];
    });
    return revisions.toSorted((left, right) =>
      compare(`${left.policy}\n${left.revision}`, `${right.policy}\n${right.revision}`),
    );
  }

  #verdicts(ofPolicy: Identifier, ofRevision: Identifier, limit: number): readonly ShadowVerdict[] {
    const verdicts = [...this.#cells].flatMap(([labels, cell]) => {
      const [policy, revision, ...verdict] = readLabels(labels);
      if (policy !== ofPolicy || revision !== ofRevision || verdict.length === 0) return [];
      const { judged: _, ...said } = shadowMeasures(cell, 0);
      return [{ constraint: verdict[0] ?? null, reason_code: verdict[1] ?? null, ...said }];
    });
    return verdicts
      .toSorted(
        (left, right) =>
          right.would_deny + right.would_narrow - left.would_deny - left.would_narrow,
      )
      .slice(0, limit);
  }
}

export function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Reads a cell's labels. They were checked when they were written. */
export function readLabels(labels: string): readonly (Identifier | null)[] {
  const value: unknown = parseJson(labels);
  if (!Array.isArray(value)) throw new TypeError("labels of a roll-up are not a list");
  return value.map((label) => (typeof label === "string" ? asIdentifier(label) : null));
}
