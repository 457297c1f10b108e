import { describeSafely, quote } from "../authored/literal-secrets.ts";
import { checkLabel, checkName, type CompileContext } from "../compile-context.ts";
import { LONGEST_SOAK } from "../normalised/defaults.ts";

/** Names and bounds of what promotions of policies require, and who may make them. */
export function checkPromotion(context: CompileContext): void {
  const { file, normalised, report } = context;
  for (const [id, { roles = [], soak }] of Object.entries(file.policies?.promotion ?? {})) {
    const path = ["policies", "promotion", id];
    for (const [index, role] of roles.entries())
      checkLabel(context, role, [...path, "roles", index], "a promotion requires the role");
    const location = [...path, "soak"];
    const whole = normalised.policies.promotion?.[id];
    if (soak !== undefined && whole !== undefined && whole.soak > LONGEST_SOAK)
      report.value("WRONG_VALUE", location, `${describeSafely(location)} must be at most 90d`, "");
  }
  for (const [index, id] of (file.policies?.managed_by ?? []).entries())
    checkName(
      context,
      "workspaces",
      id,
      ["policies", "managed_by", index],
      "policies are managed by the workspace",
    );
}

/**
 * Requirements that have no effect without another one. Only for files without errors: a rejected
 * number reads as absent.
 */
export function checkRequirementsAgree({ file, normalised, report }: CompileContext): void {
  for (const [id, authored] of Object.entries(file.policies?.promotion ?? {})) {
    const whole = normalised.policies.promotion?.[id];
    if (whole === undefined || whole.approvals > 0) continue;
    // Members from `*` alone are reported there.
    const { approvals, roles, report: asksReport, assertions } = authored;
    const hasRequirements = [approvals, roles, asksReport, assertions].some(
      (member) => member !== undefined,
    );
    if (!hasRequirements && id !== "*") continue;
    const required = [
      ...(whole.roles.length > 0 ? ["roles"] : []),
      ...(whole.assertions ? ["assertions"] : whole.report ? ["report"] : []),
    ];
    if (required.length === 0) continue;
    const path = ["policies", "promotion", id];
    report.key(
      "PROMOTION_CONTRADICTED",
      path,
      `${describeSafely(path)} requires ${required.map(quote).join(" and ")} of approvals, but no approvals`,
      "set `approvals` to at least 1",
    );
  }
}

/** Session use is stored once a minute, so a shorter idle time would end active sessions. */
const LEAST_IDLE = 5 * 60_000;

const LONGEST = 720 * 3_600_000;

/** Workspaces and times of the section `console`. */
export function checkConsole(context: CompileContext): void {
  const { file, normalised, report } = context;
  const { console: settings } = normalised;
  if (settings === undefined) return;
  const idle = ["console", "idle"];
  if (settings.idle < LEAST_IDLE)
    report.value("WRONG_VALUE", idle, `${describeSafely(idle)} must be at least 5m`, "");
  const absolute = ["console", "absolute"];
  if (settings.absolute > LONGEST) {
    report.value("WRONG_VALUE", absolute, `${describeSafely(absolute)} must be at most 720h`, "");
  }
  for (const [index, { group, role, workspaces }] of (file.console?.roles ?? []).entries()) {
    if (typeof workspaces === "string") continue;
    if (role === "administrator") {
      const path = ["console", "roles", index, "workspaces"];
      report.value(
        "WRONG_VALUE",
        path,
        `${describeSafely(path)} must be \`all\`: an administrator manages the keys of every workspace`,
        "set it to `all`, or give the role `operator`",
      );
    }
    for (const [position, id] of workspaces.entries()) {
      const path = ["console", "roles", index, "workspaces", position];
      checkName(
        context,
        "workspaces",
        id,
        path,
        `the group ${quote(group)} has a role in the workspace`,
      );
    }
  }
}
