import { nearestName } from "../nearest-name.ts";

/**
 * Why a key cannot have its labels: policies are compiled against `vocabulary.labels` of routes.yaml, so a label outside it opens or closes nothing.
 *
 * @returns the fix, without any value that was given; `null` where all labels are declared
 */
export function undeclaredLabel(labels: readonly string[], declared: readonly string[]): string | null {
  const unknown = labels.find((label) => !declared.includes(label));
  if (unknown === undefined) return null;
  const near = nearestName(unknown, declared);
  const hint = near === null ? "add it there first" : `did you mean ${near}?`;
  return `vocabulary.labels of routes.yaml does not declare one of them; ${hint}`;
}
