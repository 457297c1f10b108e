import { MOCK_ENDPOINTS } from "../mock/endpoints.ts";
import { startMock, type MockServer } from "../mock/server.ts";
import { VOCABULARY } from "../mock/words.ts";
import { listenFailure } from "../server/listen-failure.ts";
import { readArguments, readPort } from "./terminal/arguments.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "./terminal/command-io.ts";
import { stopAsked } from "./terminal/listening.ts";
import { runCommand } from "./terminal/run.ts";

const HELP = `Usage: signalbox mock [flags]

Serves a simulated provider: deterministic answers, and every fault that a provider can have.

Flags
  --host HOST   The address to listen on. Default: 127.0.0.1.
  --port PORT   Its port; 0 takes a free one. Default: 8089.
  --quiet       No line for each answer.

Words, in the header "x-mock: word; word" or after the model's name, "model+word+word":
${VOCABULARY.map(({ form, meaning }) => `  ${form}\n      ${meaning}`).join("\n")}

Exit codes: 0 stopped as asked, 1 cannot listen, 2 the command line cannot be used.
`;

/** `signalbox mock`: serves until it is told to stop (SIGINT, SIGTERM, `io.signal`). */
export function mock(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand("mock", io, () => runMock(argv, io));
}

async function runMock(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    help: { type: "boolean", short: "h" },
    quiet: { type: "boolean" },
    host: { type: "string", default: "127.0.0.1" },
    port: { type: "string", default: "8089" },
  });
  if (values.help === true) {
    io.stdout(HELP);
    return EXIT.ok;
  }
  if (positionals.length > 0) throw new UsageError("mock takes flags only; there is an argument too many");
  const server = await start(values.host, readPort(values.port, "--port"), values.quiet === true, io);
  announce(server, io);
  await stopAsked(io.signal);
  await server.close();
  return EXIT.ok;
}

async function start(host: string, port: number, quiet: boolean, io: CommandIo): Promise<MockServer> {
  try {
    return await startMock(quiet ? { host, port } : { host, port, log: (line) => io.stdout(`${line}\n`) });
  } catch (error) {
    throw new CommandError(listenFailure(error), { cause: error });
  }
}

function announce(server: MockServer, io: CommandIo): void {
  const served = MOCK_ENDPOINTS.map((endpoint) => `  ${endpoint.method.padEnd(6)} ${server.url}/v1${endpoint.path}`);
  io.stdout(`simulated provider listening on ${server.url}
${served.join("\n")}
  GET    ${server.url}/mock/requests   what was asked; DELETE forgets it
any model name, any key; "signalbox mock --help" lists the faults
`);
}
