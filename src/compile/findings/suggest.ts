import { nearestName } from "../../canon/nearest-name.ts";
import { isShowable, quote } from "../authored/literal-secrets.ts";

/** The shortest list of known names that a hint still prints whole. */
const LISTED = 12;

/**
 * What a misspelt name was probably meant to be: "did you mean `fallbacks`?", otherwise the known
 * names, otherwise the empty string. A known name can come from the file too, so one that looks
 * like a credential is never suggested.
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
