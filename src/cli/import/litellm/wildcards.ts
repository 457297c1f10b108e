import { presetOf } from "../../../compile/presets.ts";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import type { Deployment, Wildcard } from "./deployments.ts";
import { PROVIDERS, splitModel } from "./provider-table.ts";

/**
 * Adds the models that rows with `*` stand for. A name counts where `--models` has it, or where another part of the file names it; a row of
 * routes.yaml is one model, so the others have to be written.
 *
 * @param groups is added to.
 * @param named names that the file uses elsewhere.
 */
export function expandWildcards(
  wildcards: readonly Wildcard[],
  groups: Map<string, Deployment[]>,
  named: ReadonlySet<string>,
  imported: ImportedConfiguration,
): void {
  const exact = new Set(groups.keys());
  for (const wildcard of wildcards) {
    const wanted = [...new Set([...imported.answers.models, ...named])].flatMap((name) => {
      const star = starOf(wildcard.pattern, name);
      return star === null ? [] : [[name, star] as const];
    });
    const sample = wanted.length === 0 ? sampleOf(wildcard) : null;
    const rows = sample === null ? wanted : [[wildcard.pattern.replace("*", () => sample), sample] as const];
    const added: string[] = [];
    for (const [name, star] of rows) {
      // A row of its own comes before a pattern.
      if (exact.has(name)) continue;
      const deployment = wildcard.row(star);
      if (deployment === null) continue;
      groups.set(name, [...(groups.get(name) ?? []), deployment]);
      added.push(name);
    }
    const spot = { path: [...wildcard.spot.path.slice(0, -1), "model_name"], at: wildcard.spot.at };
    const which =
      added.length === 0
        ? "no model of it is named, so nothing is written"
        : sample === null
          ? `written: ${added.slice(0, 8).map(quote).join(", ")}${added.length > 8 ? ` and ${added.length - 8} more` : ""}`
          : `${quote(added[0] ?? "")} is written as an example`;
    imported.report.add(
      "decide",
      spot,
      `LiteLLM allows any model of the provider; here every route is listed. ${which}. Import with \`--models FILE\` to write those that you use`,
    );
  }
}

/** What the star matched; `null` where the name does not fit. */
function starOf(pattern: string, name: string): string | null {
  const [before = "", ...rest] = pattern.split("*");
  const after = rest.join("*");
  if (name.includes("*") || !name.startsWith(before) || !name.endsWith(after)) return null;
  const star = name.slice(before.length, name.length - after.length);
  return star === "" || name.length < before.length + after.length ? null : star;
}

/** A model of the provider that its preset knows. */
function sampleOf({ model }: Wildcard): string | null {
  const { provider } = splitModel(model, null);
  const row = provider !== null && Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  if (row?.preset === undefined || row.preset === null || !model.includes("/*")) return null;
  const upstream = presetOf(row.preset)?.sample.upstream_model ?? null;
  return upstream === null || /[A-Z]{4}/.test(upstream) ? null : upstream;
}
