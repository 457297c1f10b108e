import { editDistance } from "../../dialects/fields.ts";
import { isShowable, quote } from "../authored/literal-secrets.ts";

/** The shortest list of known names that a hint still prints whole. */
const LISTED = 12;

/**
 * What a misspelt name was probably meant to be: "did you mean `fallbacks`?", otherwise the known names, otherwise the
 * empty string. A known name can come from the file too, so one that looks like a credential is never suggested.
 */
export function suggest(name: string, known: Iterable<string>): string {
  const candidates = [...new Set(known)].filter(isShowable).toSorted();
  const nearest = nearestName(name, candidates);
  if (nearest !== null) return `did you mean ${quote(nearest)}?`;
  if (candidates.length === 0) return "";
  const shown = candidates.slice(0, LISTED).map(quote);
  const rest = candidates.length - shown.length;
  return `known here: ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** The name that a misspelt one was probably meant to be; `null` where none is near. */
export function nearestName(name: string, candidates: readonly string[]): string | null {
  // One slip in a short word, up to three in a long one: more would suggest words that merely look similar.
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
function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.\s]/g, "");
}
