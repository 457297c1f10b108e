import { describeSafely, quote } from "../authored/literal-secrets.ts";
import { checkName, type CompileContext } from "../compile-context.ts";

/**
 * A use is written to the store once a minute, so a shorter idle time would end sessions in use.
 */
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
      const message = `${describeSafely(path)} must be \`all\`: an administrator manages the keys of every workspace`;
      report.value("WRONG_VALUE", path, message, "set it to `all`, or give the role `operator`");
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
