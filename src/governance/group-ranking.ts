/** What a group is known by. */
export function groupKey(time: string, part: string): string {
  return `${time}\n${part}`;
}

interface Ranked {
  readonly key: string;
  readonly size: number;
}

/** Sizes of any number of groups: a number each, under texts that groups share. */
export class GroupRanking {
  readonly #sizes = new Map<string, Map<string, number>>();

  add(time: string, part: string, size: number): void {
    let parts = this.#sizes.get(time);
    if (parts === undefined) this.#sizes.set(time, (parts = new Map()));
    parts.set(part, (parts.get(part) ?? 0) + size);
  }

  /** Keys of the `limit` largest; of two of one size, the one with the smaller key. */
  largest(limit: number): ReadonlySet<string> {
    let found: Ranked[] = [];
    for (const [time, parts] of this.#sizes) {
      for (const [part, size] of parts) {
        found.push({ key: groupKey(time, part), size });
        if (found.length >= 8 * limit) found = found.toSorted(bySize).slice(0, limit);
      }
    }
    return new Set(
      found
        .toSorted(bySize)
        .slice(0, limit)
        .map(({ key }) => key),
    );
  }
}

function bySize(left: Ranked, right: Ranked): number {
  return right.size - left.size || (left.key < right.key ? -1 : 1);
}
