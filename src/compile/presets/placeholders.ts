import { quote } from "../authored/literal-secrets.ts";
import type { ResolvedEndpoint } from "../resolve/endpoints.ts";
import type { CompileContext } from "../compile-context.ts";

/**
 * Names that presets, `signalbox init` and docs/providers.md write where only the reader knows the right one. In capitals no provider has such a
 * name: hosts are written small, and of the others (project, account, deployment) none may or would be one of these names alone.
 */
export const PLACEHOLDERS = ["RESOURCE", "PROJECT", "ACCOUNT", "WORKSPACE", "DEPLOYMENT", "EMBED_DEPLOYMENT"] as const;

const IN_ADDRESS = new RegExp(`[/.](${PLACEHOLDERS.join("|")})(?=[/.:]|$)`);
const ALONE = new RegExp(`^(${PLACEHOLDERS.join("|")})$`);

/** Rows that were written from a preset and are not finished: everything compiles, and every call would fail. */
export function checkPlaceholders(
  { normalised, report }: CompileContext,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
): void {
  for (const { id, baseUrl } of normalised.providers.values()) {
    const placeholder = IN_ADDRESS.exec(baseUrl)?.[1];
    if (placeholder === undefined) continue;
    const message = `the base_url of provider ${quote(id)} still has the placeholder ${quote(placeholder)}`;
    report.value("PLACEHOLDER_LEFT", ["providers", id, "base_url"], message, "replace it with your own name");
  }
  for (const [id, { row, index }] of endpoints) {
    if (!ALONE.test(row.upstreamModel)) continue;
    const message = `the upstream_model of endpoint ${quote(id)} is still the placeholder ${quote(row.upstreamModel)}`;
    const hint = "write the name under which the provider serves the model to you";
    report.value("PLACEHOLDER_LEFT", ["endpoints", index, "upstream_model"], message, hint);
  }
}
