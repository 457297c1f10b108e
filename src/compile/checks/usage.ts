import { quote } from "../authored/literal-secrets.ts";
import type { ResolvedContext } from "../resolve/routes.ts";

/**
 * Rows that nothing leads to. Only for files without errors: a misspelt reference would otherwise
 * be reported twice, once where it stands and once as an unused row.
 */
export function checkUsage({ endpoints, normalised, report, routes }: ResolvedContext): void {
  const approved = new Set(
    [...normalised.workspaces.values()].flatMap(({ approve }) => approve.routes),
  );
  const used = new Set([...routes.values()].flatMap(({ row }) => [row.primary, ...row.fallbacks]));
  const rows = [...endpoints.values()].map(({ row }) => row);
  const served = new Set(rows.map(({ model }) => model));
  const reached = new Set(rows.map(({ provider }) => provider));
  // A route may exist only to be part of another one.
  const included = new Set(
    [...normalised.routes.values()].flatMap(({ fallbacks }) =>
      fallbacks.map((fallback) => (typeof fallback === "string" ? "" : fallback.route)),
    ),
  );
  for (const id of routes.keys()) {
    if (approved.has(id) || included.has(id)) continue;
    const hint = "add it to a workspace's `approve.routes`, or remove it";
    report.key(
      "UNREACHABLE_ROUTE",
      ["routes", id],
      `no workspace approves route ${quote(id)}`,
      hint,
    );
  }
  for (const [id, { index }] of endpoints) {
    if (used.has(id)) continue;
    const message = `no route uses endpoint ${quote(id)}`;
    report.value(
      "UNUSED_ENDPOINT",
      ["endpoints", index, "id"],
      message,
      "use it in a route, or remove it",
    );
  }
  const hint = "add an endpoint, or remove it";
  for (const id of normalised.models.keys()) {
    if (!served.has(id))
      report.key("UNUSED_MODEL", ["models", id], `no endpoint serves model ${quote(id)}`, hint);
  }
  for (const id of normalised.providers.keys()) {
    if (reached.has(id)) continue;
    report.key(
      "UNUSED_PROVIDER",
      ["providers", id],
      `no endpoint uses provider ${quote(id)}`,
      hint,
    );
  }
}
