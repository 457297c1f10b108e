import type { ModelRow, WorkspaceRow } from "../../canon/table.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import type { ResolvedRoute } from "../resolve/routes.ts";
import type { CompileContext } from "../compile-context.ts";

/**
 * What a model that embeds must say, and one that does not must not: lengths, the usual one of
 * them, and its window.
 */
export function checkEmbeddingModel({ report }: CompileContext, model: ModelRow): void {
  const { id, dimensions, defaultDimensions, contextWindow } = model;
  const path = ["models", id];
  if (!model.operations.includes("embed")) {
    if (dimensions.length === 0 && defaultDimensions === null) return;
    const [member, key] =
      dimensions.length > 0 ? ["dimensions", "them"] : ["default_dimensions", "it"];
    const message = `model ${quote(id)} lists \`${member}\` but does not embed`;
    const hint = `remove ${key}, or add \`embed\` to its operations`;
    report.key("DIMENSIONS_MISMATCH", [...path, member], message, hint);
    return;
  }
  if (dimensions.length === 0) {
    const message = `model ${quote(id)} embeds but lists no \`dimensions\``;
    report.key(
      "DIMENSIONS_MISMATCH",
      path,
      message,
      "add `dimensions: [1536]` with the lengths it makes",
    );
  } else if (defaultDimensions !== null && !dimensions.includes(defaultDimensions)) {
    const message = `the default of model ${quote(id)}, ${defaultDimensions}, is not one of its \`dimensions\`: ${dimensions.join(", ")}`;
    const hint = "add it to `dimensions`, or use one of them";
    report.value("DIMENSIONS_MISMATCH", [...path, "default_dimensions"], message, hint);
  }
  if (contextWindow === null) {
    const message = `model ${quote(id)} embeds but has no \`context_window\`, which workspaces have to approve`;
    report.key(
      "CONTEXT_WINDOW_MISSING",
      path,
      message,
      "add `context_window` with the tokens that one input may have",
    );
  }
}

/**
 * A route that embeds against the vector lengths and the context window that a workspace approves.
 */
export function checkEmbedding(
  context: CompileContext,
  { id, approve }: WorkspaceRow,
  route: ResolvedRoute,
  path: Path,
): void {
  if (!route.row.operations.includes("embed")) return;
  const model = context.normalised.models.get(route.primary.row.model);
  if (model === undefined) return;
  const approves = `workspace ${quote(id)} approves route ${quote(route.row.id)}`;
  const { dimensions, contextWindow } = model;
  if (dimensions.length > 0 && !dimensions.some((length) => approve.dimensions.includes(length))) {
    const message = `${approves} but none of its vector lengths: ${dimensions.join(", ")}`;
    context.report.value(
      "DIMENSIONS_NOT_APPROVED",
      path,
      message,
      "add one to `approve.dimensions`",
    );
  }
  if (
    contextWindow !== null &&
    (approve.contextWindow === null || approve.contextWindow < contextWindow)
  ) {
    const message = `${approves} but not the context window of its model, ${contextWindow} tokens: every embedding would be denied`;
    const hint = `set \`approve.context_window\` to ${contextWindow} or more`;
    context.report.value("CONTEXT_NOT_APPROVED", path, message, hint);
  }
}

/** Lengths that a workspace approves and no model makes. */
export function checkApprovedLengths(
  { file, normalised, report }: CompileContext,
  { id }: WorkspaceRow,
): void {
  const made = new Set([...normalised.models.values()].flatMap(({ dimensions }) => dimensions));
  for (const [index, length] of (file.workspaces[id]?.approve.dimensions ?? []).entries()) {
    if (made.has(length)) continue;
    const message = `workspace ${quote(id)} approves vectors of length ${length}, which no model makes`;
    const hint =
      made.size === 0
        ? "no model embeds: remove it"
        : `models make: ${[...made].toSorted((left, right) => left - right).join(", ")}`;
    report.value(
      "UNKNOWN_DIMENSION",
      ["workspaces", id, "approve", "dimensions", index],
      message,
      hint,
    );
  }
}
