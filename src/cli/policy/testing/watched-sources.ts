import type { Source } from "../../../canon/diagnostic.ts";
import type { CompiledPolicy } from "../../../policy/compiled.ts";
import type { ModuleFacts, Position } from "../../../policy/toolchain/protocol.ts";

/**
 * What one look at a constraint found, as Rego printed it. The members under `value` are those of a
 * decide module.
 */
export interface Sighting {
  readonly policy: string;
  readonly constraint: string;
  /** Which rule the test requested. */
  readonly requested: "pass" | "reason";
  readonly value: unknown;
  /** Ids of the candidates of the test's input. */
  readonly candidates: readonly string[];
}

/** A policy with its source and what the checker knows of it. */
export interface WatchedPolicy {
  readonly policy: CompiledPolicy;
  readonly source: Source;
  readonly facts: ModuleFacts;
}

/**
 * OPA's test runner reports which lines were reached, but not what a rule gave. So
 * `pass.<constraint>` and `reason.<constraint>` are renamed in a copy of the policy, and rules of
 * the old names replace them, which print what the renamed ones give under the test's own input,
 * data and replacements, and hand it on.
 *
 * What the policy itself refers to is renamed as well: only what a test requests is seen, and a
 * reason rule that reads `pass` does not end up asking itself.
 *
 * @param mark a string that does not occur in the sources, of letters and digits; it begins every
 * line that is printed.
 */
export function watchedSources(
  { policy, source, facts }: WatchedPolicy,
  mark: string,
): readonly Source[] {
  return [
    { path: source.path, text: renamed(source.text, facts, mark) },
    { path: source.path.replace(/\.rego$/, `.${mark}.rego`), text: watchers(policy, mark) },
  ];
}

/** Lines of a test's output that are sightings, and those that its author printed. */
export function readSightings(
  lines: readonly string[],
  mark: string,
): { readonly sightings: readonly Sighting[]; readonly printed: readonly string[] } {
  const sightings: Sighting[] = [];
  const printed: string[] = [];
  for (const line of lines) {
    if (!line.startsWith(`${mark} `)) printed.push(line);
    else {
      // Written by the rules below under a mark that no policy knows.
      const sighting: Sighting = JSON.parse(line.slice(mark.length + 1));
      sightings.push(sighting);
    }
  }
  return { sightings, printed };
}

/**
 * The name at the location, with what stands before it: `pass` of `default pass.c`, of
 * `data.signalbox.policy.x.pass.c`, of `own.pass.c`. A constraint may be called `pass` too, so what
 * stands without a prefix is tried first.
 */
const NAMED =
  /(?:(?:default\s+)?|data\.signalbox\.policy\.\w+\.|[A-Za-z_]\w*\.)(?:pass|reason)(?!\w)/y;

function renamed(text: string, facts: ModuleFacts, mark: string): string {
  const own = facts.package.length;
  const heads = facts.rules.filter(({ path }) => isWatched(path[0]));
  const references = facts.references.filter(
    ({ root, path }) =>
      root === "data" &&
      facts.package.every((name, index) => path[index] === name) &&
      isWatched(path[own]),
  );
  const ends = new Set<number>();
  for (const location of [...heads, ...references]) {
    NAMED.lastIndex = offsetOf(text, location);
    // Further bodies of a rule stand under its first head; they have a location, but no name of
    // their own.
    if (NAMED.test(text)) ends.add(NAMED.lastIndex);
  }
  let result = text;
  for (const end of [...ends].toSorted((left, right) => right - left)) {
    result = `${result.slice(0, end)}_${mark}${result.slice(end)}`;
  }
  return result;
}

function isWatched(name: string | null | undefined): boolean {
  return name === "pass" || name === "reason";
}

/** Columns count characters of Unicode, from 1. */
function offsetOf(text: string, { row, col }: Position): number {
  let start = 0;
  for (let line = 1; line < row; line += 1) start = text.indexOf("\n", start) + 1;
  const before = Array.from(text.slice(start, start + 2 * col)).slice(0, col - 1);
  return start + before.join("").length;
}

/** A package in two files is one package to OPA. */
function watchers({ contract, reasoned }: CompiledPolicy, mark: string): string {
  const rules = contract.constraints.flatMap(({ name, effect }) => {
    const constraint = JSON.stringify(name);
    const hasReason = reasoned.includes(name);
    const list = (rule: string): string =>
      `{${constraint}: [value | value := ${rule}_${mark}[${constraint}]]}`;
    const look = (requested: Sighting["requested"]): string =>
      `print(${JSON.stringify(mark)}, json.marshal({
		"policy": ${JSON.stringify(contract.id)},
		"constraint": ${constraint},
		"requested": ${JSON.stringify(requested)},
		"value": {"pass": ${list("pass")}, "reason": ${hasReason ? list("reason") : "{}"}},
		"candidates": [candidate.id | some candidate in input.candidates; is_string(candidate.id)],
	}))`;
    const passes =
      effect === "gate"
        ? `pass[${constraint}] := value if {\n\t${look("pass")}\n\tvalue := pass_${mark}[${constraint}]\n}`
        : `pass[${constraint}] contains id if {\n\t${look("pass")}\n\tsome id in pass_${mark}[${constraint}]\n}`;
    const reason = `reason[${constraint}] := value if {\n\t${look("reason")}\n\tvalue := reason_${mark}[${constraint}]\n}`;
    return hasReason ? [passes, reason] : [passes];
  });
  return `package signalbox.policy[${JSON.stringify(contract.id.replaceAll("-", "_"))}]\n\n${rules.join("\n\n")}\n`;
}
