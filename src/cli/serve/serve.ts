import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Diagnostic } from "../../canon/diagnostic.ts";
import { StoreUnavailableError } from "../../canon/error.ts";
import {
  consoleText,
  demoRequest,
  demoText,
  endpointsOf,
  servesOperation,
  reviewText,
  TRAFFIC_TEXT,
} from "./demo.ts";
import { parseServeOptions, SERVE_HELP } from "./options.ts";
import { CommandError, type CommandIo, errorCode } from "../terminal/command-io.ts";
import { runCommand, shownPath } from "../terminal/command-line.ts";
import { usableCache } from "../terminal/configuration.ts";
import { readVersion, saveCompiledCode, stopRequested } from "../terminal/process.ts";
import { printFindings } from "../terminal/report.ts";
import { secretFiles } from "../../compile/secrets.ts";
import { DRIFT_SENTENCES } from "../../lifecycle/observe.ts";
import { BUILD_VARIABLE, buildId } from "../../server/build-id.ts";
import type { PolicyDrift } from "../../server/policies/slots.ts";
import {
  createReloadRequests,
  type ReloadRequests,
  watchConfiguration,
  watchFiles,
} from "../../server/reload.ts";
import type { RunningServer, ServeOptions } from "../../server/running-server.ts";
import { type BuiltSnapshot, describeReference } from "../../server/snapshots.ts";
import { listenFailure, StartError } from "../../server/start-error.ts";
import { startServer } from "../../server/start.ts";
import { tierUpEarly } from "../../server/tier-up.ts";
import { setTimeout as pause } from "node:timers/promises";
import type { Budget } from "../../canon/limits.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import type { Scope } from "../../canon/identity.ts";
import {
  type CreatedKey,
  createKey,
  DAY,
  importKey,
  type KeyOptions,
} from "../../keys/key-record.ts";
import { parseKeyText } from "../../keys/key-text.ts";
import { DuplicateKeyError } from "../../keys/key-store.ts";
import type { Store } from "../../store/port.ts";

/** Output of `serve`: `stdout` for information, `stderr` for warnings. */
interface MessageIo extends CommandIo {
  readonly error: (text: string) => void;
  readonly findings: (diagnostics: readonly Diagnostic[]) => void;
  /** Text of `--demo` to read and paste; never JSON. */
  readonly plain: (text: string) => void;
}

/**
 * @param json of the log: messages are one JSON object a line on standard error. Standard output
 * has
 *   the log alone, whose lines contain no free text.
 */
function messageIo(io: CommandIo, json: boolean): MessageIo {
  if (!json) {
    const findings: MessageIo["findings"] = (diagnostics) => printFindings(diagnostics, io);
    return { ...io, error: io.stderr, findings, plain: io.stdout };
  }
  const line = (level: "info" | "warn" | "error", members: object) =>
    io.stderr(`${JSON.stringify({ level, time: new Date().toISOString(), ...members })}\n`);
  const printer = (level: "info" | "warn" | "error") => (text: string) =>
    line(level, { event: "message", message: text.trim() });
  return {
    ...io,
    terminal: io.stderrTerminal === true,
    stdout: printer("info"),
    stderr: printer("warn"),
    error: printer("error"),
    plain: io.stderr,
    findings: (diagnostics) => {
      for (const { severity, hint: fix, ...finding } of diagnostics)
        line(severity === "error" ? "error" : "warn", { event: "finding", ...finding, fix });
    },
  };
}

/** Runs until SIGTERM or SIGINT; reloads on SIGHUP and when its files change. */
export async function serve(argv: readonly string[], io: CommandIo): Promise<number> {
  const reloads = createReloadRequests();
  process.on("SIGHUP", reloads.request);
  try {
    let messages = messageIo(io, false);
    const errorIo = { ...io, stderr: (text: string) => messages.error(text) };
    return await runCommand({ name: "serve", help: SERVE_HELP }, argv, errorIo, () => {
      const options = parseServeOptions(argv, io);
      messages = messageIo(io, options.log?.format === "json");
      return runServe(options, reloads, messages);
    });
  } finally {
    process.off("SIGHUP", reloads.request);
  }
}

async function runServe(requested: ServeOptions, reloads: ReloadRequests, io: MessageIo) {
  // Before workers start: one process makes the secret and reports errors.
  const options = { ...requested, cache: await usableCache(requested.cache, io) };
  checkBootstrapKey(io.environment[BOOTSTRAP_VARIABLE]);
  // Before a database is created.
  if (!existsSync(options.config))
    throw new CommandError(
      `there is no ${shownPath(io.cwd, options.config)}; write a first routes.yaml with signalbox init, name another file with --config, or serve the example with --demo`,
    );
  if (options.exposure === "insecure_http") {
    io.stderr(
      "--insecure-http: keys and prompts cross the network unencrypted; anyone who sees the traffic can use them\n",
    );
  }
  if (options.example === true) {
    io.stdout("there is no routes.yaml here: this serves the example that comes with Signalbox\n");
  }
  const { config, environment = null, tls, watch } = options;
  const beside = tls === undefined ? [] : [tls.cert, tls.key];
  // Starts before the first compilation: a change during it must not be missed.
  const unwatch = watch
    ? watchConfiguration(config, environment, reloads.request, beside)
    : () => {};
  try {
    const server = await start(options, io);
    try {
      // Before the server is announced: an unhandled signal ends the process at once.
      const stopped = stopRequested(io.signal);
      await announce(options, server, io);
      reportPolicies(server, io);
      const story = options.traffic === true ? traffic(server, stopped, io) : null;
      saveCompiledCode();
      tierUpEarly();
      await untilStopped(stopped, server, reloads, secretWatcher(options, reloads.request), io);
      await story;
    } finally {
      reloads.endReloads();
      await server.close();
    }
    io.stdout("stopped\n");
  } finally {
    unwatch();
  }
}

/** Returns a function that watches the secret files of a build instead of the previous ones. */
function secretWatcher(
  { config, watch }: ServeOptions,
  changed: () => void,
): (built: BuiltSnapshot | null) => void {
  let end = () => {};
  return (built) => {
    if (built?.ok === false || !watch) return;
    end();
    const files = built === null ? [] : secretFiles(built.snapshot.decider.table);
    end = watchFiles(
      files.map((file) => resolve(dirname(config), file)),
      changed,
    );
  };
}

/** @throws {CommandError} where the configuration has errors. */
async function start(options: ServeOptions, io: MessageIo): Promise<RunningServer> {
  const version = readVersion();
  const environment = {
    ...io.environment,
    [BUILD_VARIABLE]: buildId(io.environment[BUILD_VARIABLE], version),
  };
  const starting =
    (options.workers ?? 1) === 1
      ? startServer(options, environment, version)
      : import("../../server/workers/start-workers.ts").then(({ startWorkers }) =>
          startWorkers(options, environment, version, (line) => io.stderr(`${line}\n`)),
        );
  const started = await starting.catch((error: unknown) => {
    if (error instanceof StartError || error instanceof StoreUnavailableError) throw error;
    throw new StartError(listenFailure(error), { cause: error });
  });
  if (started.ok) return started.server;
  io.findings(started.diagnostics);
  throw new CommandError("the configuration has errors; nothing was started");
}

async function announce(options: ServeOptions, server: RunningServer, io: MessageIo) {
  const { built, store, url, adminUrl, signInCode } = server;
  const { environment = null } = options;
  const { table } = built.snapshot.decider;
  // The first key must have all rights, so it belongs to a workspace that manages policies.
  const [firstWorkspace = "demo"] = table.policies.managedBy ?? Object.keys(table.workspaces);
  reportBuild(built, io);
  // Output that is not a terminal may be a log, which others read and keep.
  const file = io.terminal === true ? null : (options.firstKeyFile ?? null);
  const bootstrap = await bootstrapKey(
    store,
    firstWorkspace,
    io.environment[BOOTSTRAP_VARIABLE],
    file,
  );
  if (bootstrap !== null) {
    const announced = `first key (operations:manage, workspace ${firstWorkspace}, 30 days; `;
    io.stdout(
      file === null
        ? `${announced}shown once):\n  ${bootstrap}\n`
        : `${announced}nowhere else): in ${file}; keep it elsewhere, and delete the file\n`,
    );
  }
  const demoCall = options.demo ? demoRequest(table) : null;
  const demo = demoCall === null ? null : await demoKeys(store, demoCall.workspace);
  io.stdout(
    `listening on ${url} (admin on ${adminUrl}), table ${table.revision.slice(0, 12)}${environment === null ? "" : `, environment ${environment}`}\n`,
  );
  if (options.demo && demoCall === null) {
    io.stdout("--demo: no workspace approves a route, so no demo key is made\n");
  }
  if (demo !== null && demoCall !== null) io.plain(demoText(url, demo.text, demoCall));
  if (demo !== null && signInCode !== null)
    io.plain(consoleText(options, server, signInCode(demo.operator)));
  if (options.demo) io.plain(reviewText(io.cwd));
}

/** Sends made-up requests unless a provider is real, and prints how they ended. */
async function traffic(server: RunningServer, stopped: Promise<void>, io: MessageIo) {
  const { simulated, snapshot } = server.built;
  const real = Object.keys(snapshot.decider.table.providers).filter(
    (id) => !simulated.some(({ provider }) => provider === id),
  );
  if (real.length > 0) {
    io.stderr(
      `--traffic: ${real.join(", ")} would be called and paid; unset the secrets of all providers for made-up requests\n`,
    );
    return;
  }
  io.plain(TRAFFIC_TEXT);
  const end = new AbortController();
  void stopped.then(() => end.abort());
  try {
    io.stdout(`${await sendTraffic(server, end.signal)}\n`);
  } catch {
    // A failed demo must not end the server.
    io.stderr("--traffic: its keys could not be created in the store, so nothing was sent\n");
  }
}

function reportBuild(built: BuiltSnapshot, io: MessageIo) {
  io.findings(built.diagnostics);
  if (!built.ok) return;
  for (const missing of built.simulated) {
    io.stdout(
      `provider ${missing.provider}: ${describeReference(missing)} is not set; the simulated upstream answers\n`,
    );
  }
  for (const missing of built.disabled) {
    io.stdout(`provider ${missing.provider}: ${describeReference(missing)} is not set; left out\n`);
  }
  for (const drift of built.drifts) reportDrift(drift, io);
}

function reportDrift({ policy, drift }: PolicyDrift, io: CommandIo) {
  io.stderr(`policy ${policy}: ${DRIFT_SENTENCES[drift]} (${drift})\n`);
}

function reportPolicies(server: RunningServer, io: CommandIo) {
  server.watchPolicies({
    swapped: ({ id }) => io.stdout(`policies changed, set ${id}\n`),
    failed: (contents) => {
      for (const { message } of contents) io.stderr(`${message}\n`);
      io.stderr(
        "the state in the policy log cannot be loaded; the previous policies stay in force, and the server tries again\n",
      );
    },
    recovered: () => io.stdout("the policies match the policy log again\n"),
    differing: (drift) => reportDrift(drift, io),
    suspended: ({ id, revision }) =>
      io.stderr(
        `policy ${id}: the candidate r${revision} exceeded the work limit of an evaluation and is no longer evaluated; ` +
          "make it cheaper, or withdraw it\n",
      ),
  });
}

async function untilStopped(
  stopped: Promise<void>,
  server: RunningServer,
  reloads: ReloadRequests,
  watchSecrets: (built: BuiltSnapshot | null) => void,
  io: MessageIo,
) {
  watchSecrets(server.built);
  reloads.beginReloads(() =>
    server.reload().then(
      (built) => {
        watchSecrets(built);
        reportBuild(built, io);
        if (built.ok)
          io.stdout(`reloaded, table ${built.snapshot.decider.table.revision.slice(0, 12)}\n`);
        else io.error("reload failed; the last good configuration keeps serving\n");
      },
      (error: unknown) => {
        const where =
          error instanceof StartError ? `: ${error.message}` : " in the store or the policy engine";
        io.error(`reload failed${where}; the last good configuration keeps serving\n`);
      },
    ),
  );
  await stopped;
  watchSecrets(null);
  io.stdout("stopping: waiting for requests in flight\n");
}

/** Milliseconds: 240 requests in a minute stay below the limits of the example's workspaces. */
const PAUSE = 250;
const REQUESTS = 240;

/** The first workspace's key has spent it before the minute ends, with the example's prices. */
const BUDGET: Budget = { usd: 0.0075, per: "day" };

const TOOL = {
  type: "function",
  function: { name: "weather", parameters: { type: "object", properties: {} } },
};

interface Caller {
  readonly key: string;
  /** Routes for chats that the workspace approves, and those that it does not. */
  readonly routes: readonly string[];
  readonly foreign: readonly string[];
}

/**
 * Sends a minute of requests to a server whose providers are all simulated, as up to three
 * workspaces: answers, streams, tools, an outage of the first model, routes that are not approved,
 * and a key whose budget runs out.
 *
 * @returns one line for the terminal: how many requests got which status
 */
export async function sendTraffic(
  { url, store, built }: RunningServer,
  stopped: AbortSignal,
): Promise<string> {
  const { table } = built.snapshot.decider;
  const callers: Caller[] = [];
  for (const [index, workspace] of Object.keys(table.workspaces).slice(0, 3).entries()) {
    const limits = { requestsPerMinute: null, tokensPerMinute: null, concurrency: null };
    const { text } = await createDemoKey(store, {
      workspace,
      scopes: ["inference"],
      owner: "traffic",
      limits: index === 0 ? { ...limits, budget: BUDGET } : null,
    });
    callers.push({ key: text, ...routesOf(table, workspace) });
  }
  const { ofetch } = await import("ofetch");
  const send = async (index: number) => {
    const caller = callers[index % callers.length];
    if (caller === undefined) return [];
    const { status } = await ofetch.raw(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${caller.key}` },
      body: bodyOf(caller, index, table),
      responseType: "text",
      ignoreResponseError: true,
      retry: false,
      signal: stopped,
    });
    return [status];
  };
  const results: Promise<readonly number[]>[] = [];
  for (let index = 0; index < REQUESTS && !stopped.aborted; index++) {
    // Requests that end with the server are not counted.
    results.push(send(index).catch(() => []));
    await pause(PAUSE, undefined, { signal: stopped }).catch(() => {});
  }
  const statuses = (await Promise.all(results)).flat().toSorted((first, second) => first - second);
  const counts = Map.groupBy(statuses, (status) => status);
  return `made-up traffic: ${[...counts].map(([status, all]) => `${all.length} × ${status}`).join(", ")}`;
}

function routesOf(table: RoutingTable, workspace: string) {
  const chats = Object.keys(table.routes).filter((id) => servesOperation(table, id, "generate"));
  const approved = new Set(table.workspaces[workspace]?.approve.routes);
  return {
    routes: chats.filter((id) => approved.has(id)),
    foreign: chats.filter((id) => !approved.has(id)),
  };
}

/** Nine of twelve requests are plain; the others are events for an operator to find. */
function bodyOf({ routes, foreign }: Caller, index: number, table: RoutingTable): object {
  const turn = Math.floor(index / 3) % 12;
  const route = routes[index % Math.min(2, routes.length)] ?? "";
  const [first] = endpointsOf(table, route);
  const chat = (model: string, text: string, more: object = {}): object => ({
    model,
    messages: [{ role: "user", content: text }],
    // Reserved until the answer is counted.
    max_tokens: 300,
    ...more,
  });
  if (turn === 3) return chat(foreign[0] ?? route, "A route that is not approved.");
  if (turn === 6) return chat(route, "What is the weather?", { tools: [TOOL] });
  if (turn === 9) return chat(route, `An outage. [x-mock ${first?.upstreamModel ?? ""}: 503]`);
  return chat(route, "Write a page. [x-mock: size=4kB; first-byte=80ms]", {
    stream: turn % 2 === 0,
  });
}

export const BOOTSTRAP_VARIABLE = "SIGNALBOX_BOOTSTRAP_KEY";

/**
 * Checks the operator's first key before the store is opened.
 *
 * @throws {CommandError} where it is set and no whole key; the message does not quote it.
 */
export function checkBootstrapKey(keyText: string | undefined): void {
  if (keyText === undefined || keyText === "" || parseKeyText(keyText) !== null) return;
  throw new CommandError(
    `${BOOTSTRAP_VARIABLE}: this is not a whole service key; give one as "signalbox keys create" prints it, or leave the variable out`,
  );
}

/**
 * Gives a store without keys one `operations:manage` key (docs/deployment.md#one-machine): the one
 * in `SIGNALBOX_BOOTSTRAP_KEY`, or a new one whose text is returned to be shown once. `null`
 * without a text to show.
 *
 * @param file for its text, written before the key exists: no key without a known text is stored;
 * `null` where a terminal shows it.
 * @throws {CommandError} where the file cannot be written, or exists already: then no key is made.
 */
export async function bootstrapKey(
  store: Store,
  workspace: string,
  keyText: string | undefined,
  file: string | null,
): Promise<string | null> {
  if ((await store.keys.list()).length > 0) return null;
  const options = {
    workspace,
    scopes: ["operations:manage"] satisfies Scope[],
    owner: "bootstrap",
    environment: "production",
    expiresAt: Date.now() + 30 * DAY,
    createdBy: "bootstrap",
  };
  if (keyText !== undefined && keyText !== "") {
    try {
      await store.keys.create(importKey(keyText, options, Date.now));
    } catch (error) {
      // Another replica with the same key started first.
      if (!(error instanceof DuplicateKeyError)) throw error;
    }
    return null;
  }
  const { text, record } = createKey(options, Date.now, randomBytes);
  if (file !== null) await writeKeyFile(file, text);
  try {
    await store.keys.create(record);
  } catch (error) {
    if (file !== null) await rm(file, { force: true });
    throw error;
  }
  return text;
}

/** Writes a file of mode 0600, synced to disk; removes it after an error. */
async function writeKeyFile(file: string, text: string) {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // Exclusive: neither a file nor the target of a link is overwritten.
    await writeFile(file, `${text}\n`, { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    const call: unknown = error instanceof Error ? Reflect.get(error, "syscall") : undefined;
    // Before it is opened, a file of this name is another one.
    if (call !== "mkdir" && call !== "open") await rm(file, { force: true });
    const fileExists = call === "open" && errorCode(error) === "EEXIST";
    throw new CommandError(
      `--first-key-file: ${file} ${fileExists ? "exists already, and is not overwritten" : "cannot be written"}, so no first key was made; ` +
        `name a new file in a folder that can be written, or give a key of your own as ${BOOTSTRAP_VARIABLE}`,
      { cause: error },
    );
  }
}

/** Scopes for a first look, without management. */
const DEMO_SCOPES: readonly Scope[] = [
  "inference",
  "catalogue:read",
  "route:simulate",
  "governance:read",
  "spend:read",
];

/** The holder of the console's first session sees and manages everything. */
const OPERATOR_SCOPES: readonly Scope[] = [...DEMO_SCOPES, "operations:manage", "platform:manage"];

/** Stores a key of one day. The next start with `--demo` revokes it. */
export async function createDemoKey(
  store: Store,
  key: Pick<KeyOptions, "workspace" | "owner" | "scopes" | "limits">,
): Promise<CreatedKey> {
  const options = { ...key, environment: "development", createdBy: "demo" };
  const created = createKey({ ...options, expiresAt: Date.now() + DAY }, Date.now, randomBytes);
  await store.keys.create(created.record);
  return created;
}

/**
 * Makes two keys of one day and revokes those of earlier starts. @returns the text of the key for
 * the request to paste, and the id of the key that signs in to the console.
 */
export async function demoKeys(store: Store, workspace: string) {
  const now = Date.now();
  for (const key of await store.keys.list()) {
    if (key.createdBy === "demo" && key.status === "active") await store.keys.revoke(key.id, now);
  }
  const demo = { workspace, owner: "demo", scopes: DEMO_SCOPES };
  const { text } = await createDemoKey(store, demo);
  const operator = { workspace, owner: "demo-operator", scopes: OPERATOR_SCOPES };
  const { record } = await createDemoKey(store, operator);
  return { text, operator: record.id };
}
