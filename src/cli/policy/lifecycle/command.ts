import { UsageError, type CommandIo } from "../../terminal/command-io.ts";
import {
  TABLE_FORMAT_HELP,
  flagCommand,
  noArguments,
  onlyArgument,
  wantsJson,
} from "../../terminal/command-line.ts";
import { DEFAULT_SERVER, policyServer, type PolicyServer } from "./policy-server.ts";

/** One flag and its help. */
interface Flag {
  readonly type: "boolean" | "string";
  readonly multiple?: boolean;
  /** Placeholder of the value in the help. */
  readonly value?: string;
  readonly help: string;
}

export type Flags = Readonly<Record<string, Flag>>;

/** A flag with a value. @param value its placeholder in the help. */
export function valueFlag(value: string, help: string) {
  return { type: "string", value, help } as const;
}

/** The values of flags on one command line. */
export type Values<Given extends Flags> = {
  readonly [Name in keyof Given]?: Given[Name] extends { readonly type: "boolean" }
    ? boolean
    : Given[Name] extends { readonly multiple: true }
      ? readonly string[]
      : string;
};

/** Flags of all commands that call a server about policies; `-h, --help` besides. */
const COMMON_FLAGS = {
  server: valueFlag("URL", `The server. Default: SIGNALBOX_SERVER, else ${DEFAULT_SERVER}.`),
  format: valueFlag("FORMAT", `${TABLE_FORMAT_HELP}.`),
} satisfies Flags;

/** Key and exit codes in a command's help, by the access that it needs. */
const ACCESS = {
  reads: {
    key: "The key, with the scope governance:read or operations:manage, is read from SIGNALBOX_KEY.\n",
    codes: "Exit codes: 0 shown; 1 not shown; 2 the command line cannot be used.\n",
  },
  changes: {
    key: `The key, with the scope operations:manage, is read from SIGNALBOX_KEY; policies:approve is enough to approve and to withdraw
an approval. Where policies.managed_by of routes.yaml names workspaces, it must be a key of one of them.
`,
    codes: `Exit codes: 0 done; 1 not done; 2 the command line cannot be used; 3 not done because a requirement is not met, or because
the policy has changed since it was read.
`,
  },
} as const;

/** A row of the table of commands. */
interface CommandRow<Given extends Flags> {
  readonly name: string;
  /** For the help of `signalbox policy`. */
  readonly summary: string;
  readonly access: keyof typeof ACCESS;
  /** The paragraphs below the usage line. */
  readonly about: string;
  readonly flags: Given;
  /** Output of `--format json`, where it is not the server's answer alone. */
  readonly json?: string;
  /** Whether the command is about all policies and takes no ID. */
  readonly ofAll?: true;
  readonly work: (call: Call<Given>) => Promise<void>;
}

/** A command line that has been read. */
interface Call<Given extends Flags> {
  /** Empty for a command that takes none. */
  readonly id: string;
  readonly values: Values<Given>;
  readonly json: boolean;
  readonly server: PolicyServer;
  readonly io: CommandIo;
}

/** Makes the command that a row describes; `argument` is empty for one about all policies. */
export function lifecycleCommand<const Given extends Flags>(row: CommandRow<Given>) {
  const { name, summary, ofAll = false } = row;
  const argument = ofAll ? "" : "ID";
  // The first spread decides the order of the help, the last one a format of the row's own.
  const flags: Flags = { ...row.flags, ...COMMON_FLAGS, ...row.flags };
  const help = () => helpOf(row, argument, flags);
  const command = flagCommand(
    { name: `policy ${name}`, help, flags },
    async (given, io, positionals) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the arguments were read by these flags
      const values = given as Values<Given>;
      const { server: address, format } = given;
      const server = policyServer(typeof address === "string" ? address : undefined, io);
      if (ofAll) noArguments(positionals, "one policy is shown by: signalbox policy show");
      const id = ofAll ? "" : policyId(positionals);
      // Commands with other formats parse the flag themselves.
      const json = typeof format === "string" && wantsJson(format);
      await row.work({ id, values, json, server, io });
    },
  );
  return { name, summary, argument, load: () => Promise.resolve(command) };
}

function helpOf(
  { name, access, about, json }: Omit<CommandRow<Flags>, "work">,
  argument: string,
  flags: Flags,
): string {
  const { key, codes } = ACCESS[access];
  return `Usage: signalbox policy ${name}${argument && ` ${argument}`} [options]

${about}

${Object.entries(flags).map(flagHelp).join("")}  -h, --help            This text.

${key}
${json === undefined ? "" : `With --format json: ${json}\n`}${codes}`;
}

/** The name in the first 24 columns, and the help beside it. */
function flagHelp([name, { value, help }]: readonly [string, Flag]): string {
  const shown = `--${name}${value === undefined ? "" : ` ${value}`}`;
  return `  ${shown.padEnd(22)}${help.replaceAll("\n", `\n${" ".repeat(24)}`)}\n`;
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
