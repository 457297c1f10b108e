import { listenFailure } from "../server/start-error.ts";
import {
  loadSimulatedProvider,
  type MockServer,
  type SimulatedProvider,
} from "../server/simulated-provider.ts";
import { CommandError, type CommandIo } from "./terminal/command-io.ts";
import { stopRequested } from "./terminal/process.ts";
import { PORTS, defaultFlags, flagCommand, readNumber } from "./terminal/command-line.ts";

function help({ vocabulary }: SimulatedProvider) {
  return `Usage: signalbox mock [flags]

Serves a simulated provider: deterministic answers, and every fault that a provider can have.

Flags
  --host HOST   The address to listen on. Default: 127.0.0.1.
  --port PORT   Its port; 0 takes a free one. Default: 8089.
  --quiet       Does not print a line for each answer.

Faults, in the header "x-mock: fault; fault" or after the model's name, "model+fault+fault":
${vocabulary.map(({ form, meaning }) => `  ${form}\n      ${meaning}`).join("\n")}

Exit codes: 0 stopped as requested, 1 cannot listen, 2 the command line cannot be used.
`;
}

const FLAGS = defaultFlags({ quiet: false, host: "127.0.0.1", port: "8089" });

/** Serves until SIGINT, SIGTERM or `io.signal`. */
export const mock = flagCommand(
  {
    name: "mock",
    help: async () => help(await loadSimulatedProvider()),
    flags: FLAGS,
    flagsOnly: "",
  },
  async ({ host, port: portText, quiet }, io) => {
    const provider = await loadSimulatedProvider();
    const port = readNumber("--port", portText, PORTS);
    const log = quiet ? {} : { log: (text: string) => io.stdout(`${text}\n`) };
    const server = await provider.startMock({ host, port, ...log }).catch((error: unknown) => {
      throw new CommandError(listenFailure(error), { cause: error });
    });
    announce(provider, server, io);
    await stopRequested(io.signal);
    await server.close();
  },
);

function announce({ endpoints }: SimulatedProvider, server: MockServer, io: CommandIo) {
  const served = endpoints.map(
    (endpoint) => `  ${endpoint.method.padEnd(6)} ${server.url}/v1${endpoint.path}`,
  );
  io.stdout(`simulated provider listening on ${server.url}
${served.join("\n")}
  GET    ${server.url}/mock/requests   the requests received; DELETE clears them
any model name, any key; "signalbox mock --help" lists the faults
`);
}
