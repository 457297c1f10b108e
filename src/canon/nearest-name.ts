/**
 * The candidate that a misspelt name was probably meant to be; `null` where none is close.
 *
 * @example nearestName("fallback", ["fallbacks", "primary"]) // "fallbacks"
 */
export function nearestName(name: string, candidates: readonly string[]): string | null {
  // One slip in a short word, up to three in a long one: more would suggest words that merely look
  // similar.
  const allowed = Math.min(3, Math.max(1, Math.floor(name.length / 3)));
  const folded = fold(name);
  let nearest: string | null = null;
  let best = allowed + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > allowed) continue;
    const distance = editDistance(folded, fold(candidate));
    if (distance < best) [nearest, best] = [candidate, distance];
  }
  return nearest;
}

/** `maxTokens`, `max-tokens` and `max_tokens` differ in no letter. */
function fold(name: string) {
  return name.toLowerCase().replaceAll(/[-_.\s]/g, "");
}

/**
 * The insertions, deletions, replacements and swaps of neighbours that turn one word into the
 * other, for the hint of a finding. A library without swaps suggests other names (decision 25).
 *
 * @example editDistance("roles", "rolse") // 1
 */
export function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      let cost = Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped && row > 1 && column > 1)
        cost = Math.min(cost, (beforePrevious[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    [beforePrevious, previous] = [previous, current];
  }
  return previous[right.length] ?? 0;
}
