import type { RollUpQuery, RollUpRow } from "../../governance/increments.ts";
import type { Identity } from "../../canon/identity.ts";

/** Query parameter of readings that can be of several workspaces, for /openapi.json. */
export const WORKSPACES_QUERY = {
  enum: ["own", "all"],
  default: "own",
  description:
    "`all`: every workspace that the caller may read with this scope. A key has its own; a session of the console may have several.",
} as const;

/** Query parameters of readings that have no other, for /openapi.json. */
export const READING_QUERY = { workspaces: WORKSPACES_QUERY } as const;

/**
 * What is looked at of a control call; a type of its own, because the runtime's types are made of
 * readings.
 */
export interface ReadingCall {
  readonly identity: Identity | null;
  readonly covered: readonly string[];
  readonly url: URL;
}

/** Whose figures a request wants. */
export function readWorkspaces(call: ReadingCall): readonly string[] {
  return call.url.searchParams.get("workspaces") === "all" ? call.covered : [ownWorkspace(call)];
}

/** The workspace of the caller's key, or the one that a session has chosen. */
export function ownWorkspace({ identity }: Pick<ReadingCall, "identity">): string {
  if (identity === null) throw new Error("control: a workspace without an identity");
  return identity.workspace;
}

type Read = (query: RollUpQuery) => AsyncIterable<readonly RollUpRow[]>;

/** The cells of several workspaces, one workspace after the other. */
export async function* cellsOf(
  read: Read,
  workspaces: readonly string[],
  query: Omit<RollUpQuery, "workspace">,
): AsyncGenerator<readonly RollUpRow[], void> {
  for (const workspace of workspaces) yield* read({ ...query, workspace });
}
