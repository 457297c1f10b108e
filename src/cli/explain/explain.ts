import { resolve } from "node:path";
import { BUDGET_STEPS } from "../../canon/limits.ts";
import { type JsonObject, parseJsonObject } from "../../canon/json.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { TOKEN_BUCKETS } from "../../canon/request.ts";
import { readNamedFile } from "../../policy/read-regular-file.ts";
import { UsageError, type CommandIo } from "../terminal/command-io.ts";
import { DEFAULT_CACHE_TEXT } from "../terminal/configuration.ts";
import { jsonText } from "../terminal/printing.ts";
import { runCommand } from "../terminal/command-line.ts";
import { explainFromFiles, explainFromServer } from "./answer.ts";
import { readOptions } from "./flags.ts";
import { printExplanation } from "./format-explanation.ts";

const HELP = `Usage: signalbox explain [options]

Shows where one request would go, or why it would be denied: every candidate, every constraint, and the line of the files
that declares it. Calls no provider and reserves nothing.

Source of the decision
  --config FILE            routes.yaml, with the policies beside it. Default: routes.yaml. Opens no store, reads no secret.
  --environment NAME       Merge routes.NAME.yaml over it. Default: SIGNALBOX_ENVIRONMENT, else none.
  --cache DIRECTORY        Compiled policies. Default: ${DEFAULT_CACHE_TEXT}.
  --base REF|FOLDER        The files that a server runs now: each of its policies stays enforced until its change or its
                           removal is promoted. Default: a new server. As --base of signalbox simulate.
  --head REF|FOLDER        The files. Default: the current folder. As --head of signalbox simulate.
  --server URL             A running server instead of files; its key, with the scope route:simulate, from SIGNALBOX_KEY.

The request
  --point JSON             The request as the report of signalbox simulate prints it, or only some members:
                           '{"workspace":"demo","operation":"chat.completions","model":"chat-small","needs":["tools"]}'.
    operation              ${OPERATIONS.slice(0, 4).join(", ")},
                           ${OPERATIONS.slice(4).join(", ")}.
    workspace, key         The caller; a server reads it from the key. key: environment (default: production), workload,
                           owner, labels.
    model                  The route, as clients write it.
    preferences            The provider member of a request, such as {"only":["azure"],"zdr":true}.
    needs, features        Capabilities, such as tools; features of wire protocols, such as seed.
    stream, reasoningEffort, dimensions, signatureFamilies
    context, maxOutput     Sizes: ${TOKEN_BUCKETS.slice(1, 4).join(", ")}, …
    budget                 ${BUDGET_STEPS.join(", ")}: what is left of the budgets.
    time                   {"day":"weekday","hour":"night"}, in UTC; and "local" with the clocks of
                           zones: {"Europe/Berlin":{"weekday":"friday","hour":23}}. Default: now.
  --request FILE           The request's body; - for standard input. --point has the rest.

Other
  --promoted               As if every candidate policy were promoted.
  --format FORMAT          terminal or json. Default: terminal.
  -h, --help               This text.

Exit codes: 0 explained, whether the request is routed or denied; 1 not explained; 2 the command line cannot be used.
`;

/** The longest body of a request, characters: the default limit of a server. */
const LONGEST_BODY = 32 * 1024 * 1024;

export function explainRequest(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand({ name: "explain", help: HELP }, argv, io, async () => {
    const options = readOptions(argv, Date.now(), io);
    const { source } = options;
    const body = options.request === null ? null : await readBody(options.request, io);
    const { explanation, notes } =
      "server" in source
        ? await explainFromServer(options, source.server, body, io)
        : await explainFromFiles(options, source, body, io);
    if (options.format === "json") io.stdout(jsonText({ format: 2, ...explanation, notes }));
    else printExplanation(explanation, notes, io);
  });
}

async function readBody(name: string, { cwd, stdin }: CommandIo): Promise<JsonObject> {
  const text = name === "-" ? ((await stdin?.()) ?? "") : await readText(resolve(cwd, name));
  if (text === null || text.length > LONGEST_BODY) {
    throw new UsageError(`--request: is longer than ${LONGEST_BODY} characters`);
  }
  const body = parseJsonObject(text);
  if (body === null)
    throw new UsageError("--request: must hold a JSON object, the body of a request");
  return body;
}

/** `null` for a file that is too large. */
async function readText(path: string) {
  try {
    // A character has at most four bytes.
    const bytes = await readNamedFile(path, 4 * LONGEST_BODY);
    return bytes === "too_large" ? null : Buffer.from(bytes).toString("utf8");
  } catch {
    throw new UsageError(
      "--request: the file cannot be read; name a file, or - for standard input",
    );
  }
}
