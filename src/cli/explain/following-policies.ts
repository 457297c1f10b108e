import { compiledSides, type CompiledTree } from "../../simulate/side-contents.ts";
import { sideViews } from "../../simulate/views.ts";
import { locationsOf } from "../../simulate/explain/positions.ts";
import type { KeptRules } from "../../simulate/explain/explanation-locations.ts";
import type { PolicySet } from "../../canon/policy.ts";
import type { SimulateOptions, TreeOption } from "../simulate/options.ts";
import { allSources } from "../../compile/load.ts";
import { compileSide, hasOverlay, openTree } from "../simulate/sides.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { wantsColour } from "../terminal/printing.ts";
import { formatDiagnostics } from "../terminal/report.ts";

/** The slots of a server that runs base and whose files become head's. */
export interface FollowingPolicies {
  readonly set: PolicySet;
  readonly kept: KeptRules;
}

/**
 * Policies as a server has them that has seen base: as `signalbox simulate` means head as declared.
 *
 * @throws {CommandError} where base is not there, cannot be read, or has errors.
 */
export async function followingPolicies(
  head: CompiledTree,
  base: TreeOption,
  options: Pick<SimulateOptions, "config" | "cache" | "environment">,
  io: CommandIo,
): Promise<FollowingPolicies> {
  const tree = await openTree(base, "--base", io);
  const { environment } = options;
  // As `signalbox simulate`: head may add an overlay that base does not have.
  const isThere = environment !== null && (await hasOverlay(tree, options.config, environment));
  const before = await compileSide(tree, { ...options, environment: isThere ? environment : null });
  if ("diagnostics" in before) {
    const sources = allSources(before.files);
    io.stderr(formatDiagnostics("terminal", before.diagnostics, { sources, colour: wantsColour(io) }));
    throw new CommandError("--base: its files have errors, so what is enforced there is unknown");
  }
  const side = compiledSides(before, head, false).head;
  const kept = side.contents.filter(({ isKept }) => isKept).map(({ contract }) => contract.id);
  const { declared } = await sideViews(side, () => false);
  return { set: declared, kept: { policies: new Set(kept), locations: locationsOf(before.files) } };
}
