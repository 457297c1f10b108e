import { UsageError, type CommandIo } from "../../terminal/command-io.ts";
import {
  TABLE_FORMAT_HELP,
  flagCommand,
  noArguments,
  onlyArgument,
  textFlags,
  wantsJson,
  type FlagValues,
  type Options,
} from "../../terminal/command-line.ts";
import { DEFAULT_SERVER, policyServer, type PolicyServer } from "./policy-server.ts";

/** Flags of all commands that call a server about policies. */
const COMMON_FLAGS = textFlags("server", "format");

/** The lines of a command's help about them, key and exit codes, by its access. */
export const SERVER_HELP = `  --server URL          The server. Default: SIGNALBOX_SERVER, else ${DEFAULT_SERVER}.
`;
export const CHANGES_END = `  -h, --help            This text.

The key, with the scope operations:manage, is read from SIGNALBOX_KEY; policies:approve is enough to approve and to withdraw
an approval. Where policies.managed_by of routes.yaml names workspaces, it must be a key of one of them.

Exit codes: 0 done; 1 not done; 2 the command line cannot be used; 3 not done because a requirement is not met, or because
the policy has changed since it was read.
`;
export const CHANGES_HELP = `${SERVER_HELP}  --format FORMAT       ${TABLE_FORMAT_HELP}.
${CHANGES_END}`;
export const READS_HELP = `${SERVER_HELP}  --format FORMAT       ${TABLE_FORMAT_HELP}.
  -h, --help            This text.

The key, with the scope governance:read or operations:manage, is read from SIGNALBOX_KEY.

`;
export const READS_CODES = "Exit codes: 0 shown; 1 not shown; 2 the command line cannot be used.\n";

/** A row of the table of commands. */
interface CommandRow<Given extends Options> {
  readonly name: string;
  /** For the help of `signalbox policy`. */
  readonly summary: string;
  readonly help: string;
  readonly flags: Given;
  /** Whether the command is about all policies and takes no ID. */
  readonly ofAll?: boolean;
  readonly work: (call: Call<Given>) => Promise<void>;
}

/** A command line that has been read. */
interface Call<Given extends Options> {
  /** Empty for a command that takes none. */
  readonly id: string;
  readonly values: FlagValues<Given>;
  readonly json: boolean;
  readonly server: PolicyServer;
  readonly io: CommandIo;
}

/** Makes the command that a row describes; `argument` is empty for one about all policies. */
export function lifecycleCommand<const Given extends Options>({
  name,
  summary,
  help,
  ofAll = false,
  ...row
}: CommandRow<Given>) {
  // A format of the row's own comes last.
  const flags: Options = { ...COMMON_FLAGS, ...row.flags };
  const command = flagCommand(
    { name: `policy ${name}`, help, flags },
    async (flagValues, io, positionals) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the arguments were read by these flags
      const values = flagValues as FlagValues<Given>;
      const { server: address, format } = flagValues;
      const server = policyServer(typeof address === "string" ? address : undefined, io);
      if (ofAll) noArguments(positionals, "one policy is shown by: signalbox policy show");
      const id = ofAll ? "" : policyId(positionals);
      // Commands with other formats parse the flag themselves.
      const json = typeof format === "string" && wantsJson(format);
      await row.work({ id, values, json, server, io });
    },
  );
  return { name, summary, argument: ofAll ? "" : "ID", load: () => Promise.resolve(command) };
}

/**
 * The policy that a command is about. @throws {UsageError} for an invalid id: it would lead to
 * another path.
 */
function policyId(positionals: readonly string[]): string {
  const id = onlyArgument(positionals, "ID");
  if (id.length > 200 || !/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(id)) {
    throw new UsageError(
      "ID: is not the id of a policy; the id is its file's name without .rego, such as eu-residency",
    );
  }
  return id;
}
