import { onlyArgument } from "../../terminal/arguments.ts";
import { EXIT, UsageError, type CommandIo } from "../../terminal/command-io.ts";
import { wantsColour } from "../../terminal/printing.ts";
import { runCommand } from "../../terminal/run.ts";
import { renderLines, type Line } from "../../simulate/formats/terminal/layout.ts";
import { DEFAULT_SERVER, PolicyServer } from "./server/client.ts";
import { NotNowError } from "./server/refusal.ts";

/** Exit code of what cannot be done now: something is missing, or somebody was quicker. A pipeline can wait for it. */
const NOT_NOW = 3;

/** Columns where stdout is no terminal. */
const USUAL_WIDTH = 120;

/** Flags of all commands that ask a server about policies. */
export const COMMON_FLAGS = {
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  server: { type: "string" },
} as const;

export const COMMON_HELP = `  --server URL          The server. Default: SIGNALBOX_SERVER, else ${DEFAULT_SERVER}.
  --json                Prints JSON.
  -h, --help            This text.
`;

export const READING_KEY =
  "The key, with the scope governance:read or operations:manage, is read from SIGNALBOX_KEY.\n";
export const CHANGING_KEY = `The key, with the scope operations:manage, is read from SIGNALBOX_KEY. Where policies.managed_by of routes.yaml names
workspaces, it must be a key of one of them.
`;

export const READING_CODES = "Exit codes: 0 shown; 1 not shown; 2 the command line cannot be used.\n";
export const CHANGING_CODES = `Exit codes: 0 done; 1 not done; 2 the command line cannot be used; 3 not done because something is missing, or because
somebody has changed the policy meanwhile.
`;

/** What a command has when its line has been read. */
export interface Context<Values> {
  readonly values: Values;
  readonly positionals: readonly string[];
  readonly server: PolicyServer;
  readonly io: CommandIo;
}

interface Read<Values> {
  readonly values: Values;
  readonly positionals: readonly string[];
}

/**
 * Runs a command that asks a server about policies.
 *
 * @param read gives the line's flags, `COMMON_FLAGS` among them.
 */
export function runLifecycle<Values extends { readonly help?: boolean; readonly server?: string }>(
  name: string,
  help: string,
  read: () => Read<Values>,
  io: CommandIo,
  work: (context: Context<Values>) => Promise<void>,
): Promise<number> {
  const command = `policy ${name}`;
  return runCommand(command, io, async () => {
    const { values, positionals } = read();
    if (values.help === true) {
      io.stdout(help);
      return EXIT.ok;
    }
    try {
      await work({ values, positionals, server: new PolicyServer(values.server, io), io });
    } catch (error) {
      if (!(error instanceof NotNowError)) throw error;
      io.stderr(`signalbox ${command}: ${error.message}\n`);
      return NOT_NOW;
    }
    return EXIT.ok;
  });
}

/** The one policy that a command is about. @throws {UsageError} for what no policy is called: it would be another path. */
export function policyId(positionals: readonly string[]): string {
  const id = onlyArgument(positionals, "ID");
  if (id.length > 200 || !/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(id)) {
    throw new UsageError("ID: is no policy's; it is the name of its file without .rego, such as eu-residency");
  }
  return id;
}

export function printLines(lines: readonly Line[], io: CommandIo): void {
  const width = io.terminal === true ? (io.columns ?? USUAL_WIDTH) : USUAL_WIDTH;
  io.stdout(renderLines(lines, { colour: wantsColour(io), width }));
}

export function printJson(value: unknown, io: CommandIo): void {
  io.stdout(`${JSON.stringify(value, null, 2)}\n`);
}
