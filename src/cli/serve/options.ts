import { existsSync } from "node:fs";
import {
  ENVIRONMENT_HELP,
  PORTS,
  defaultFlags,
  noArguments,
  readArguments,
  readEnvironment,
  readNumber,
  readValue,
  textFlags,
} from "../terminal/command-line.ts";
import { availableParallelism, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { UsageError, type CommandIo } from "../terminal/command-io.ts";
import { DEFAULT_CACHE_TEXT, compileCacheAt } from "../terminal/configuration.ts";
import { LOG_LEVELS } from "../../telemetry/log-record.ts";
import type { ConsoleListener, Exposure, ServeOptions } from "../../server/running-server.ts";
import type { TlsFiles } from "../../server/tls.ts";
import { isPostgresUrl } from "../../store/postgres/settings.ts";
import { databasePath } from "../terminal/open-store.ts";
import { isIP } from "node:net";

/** Three folders up from `src/cli/serve` and from `dist/cli/serve` alike. */
const EXAMPLE = fileURLToPath(new URL("../../../routes.yaml", import.meta.url));

const DAY = 86_400_000;

/** Days that evidence can be kept for at most: about a hundred years. */
const LONGEST = 36_500;

const RETENTION_VARIABLE = "SIGNALBOX_EVIDENCE_RETENTION_DAYS";

export const SERVE_HELP = `Usage: signalbox serve [options]

Serves the routes and policies of a folder.

  --config FILE       routes.yaml to serve (default: routes.yaml)
${ENVIRONMENT_HELP}
  --database PATH     SQLite file or postgres:// URL (default: $SIGNALBOX_DATABASE_URL, else $SIGNALBOX_DATABASE,
                      else .signalbox/signalbox.db)
  --host HOST         address of the public listener (default: 127.0.0.1); one that other machines reach needs TLS,
                      or one of the next two
  --behind-proxy      a proxy in front terminates TLS and only the proxy reaches the port; forwarded headers are ignored
  --insecure-http     allow keys to cross the network unencrypted
  --port PORT         its port; 0 takes a free one (default: $PORT or 8080)
  --admin-host HOST   address of the admin listener: /livez, /readyz, /metrics (default: 127.0.0.1)
  --admin-port PORT   its port; 0 takes a free one (default: the public port + 1, or 0)
  --workers N         processes that serve, 1 to 64, or auto: one for each core (default: $SIGNALBOX_WORKERS or 1)
  --console WHERE     which listener has the operators' page, /console/: admin, public or off (default: admin where
                      only this machine reaches it, else off)
  --tls-cert FILE     certificate (PEM, with its chain) of the public listener, TLS 1.2 or newer; read again at a reload
  --tls-key FILE      its key (default: $SIGNALBOX_TLS_CERT and $SIGNALBOX_TLS_KEY, or no TLS)
  --max-in-flight N   inference requests at once in each process; more get 503 (default: 2000)
  --max-connections N connections at once in each process; more are closed (default: 10000)
  --keep-alive SECONDS
                      how long a connection is kept without a request, 1 to 3600: longer than the balancer in front
                      keeps its own (default: 75)
  --max-answer-bytes N
                      largest answer in one piece, or part of a batch, that a provider may send (default: 33554432);
                      all parts together may have four times as many bytes
  --egress-proxy      call providers, token services and identity providers through $HTTPS_PROXY or $HTTP_PROXY,
                      hosts of $NO_PROXY directly
  --max-body-bytes N  largest body of a request (default: 33554432); all bodies at once may take a quarter of the
                      machine's or container's memory, but at least three times N in each process
  --drain SECONDS     longest wait for requests in flight when stopped (default: 30)
  --drain-delay SECONDS
                      before that, serve for so long while /readyz answers 503 (default: 0)
  --first-key-file FILE
                      file for the first key of an empty store, unless a terminal shows it: a new file of mode 0600
                      (default: first-key beside the database)
  --cache DIRECTORY   compiled policies (default: ${DEFAULT_CACHE_TEXT})
  --evidence-delay MILLISECONDS
                      longest time that a decision gathers while no answer needs it, 0 to 1000 (default: 20)
  --evidence-wait SECONDS
                      longest time that an answer waits for its decision to be on disk, up to 60; then 503 (default: 1)
  --evidence-retention DAYS
                      delete older evidence, hourly (default: $SIGNALBOX_EVIDENCE_RETENTION_DAYS or keep all)
  --log-format FORMAT text, or json: one object a line, events on standard output and messages on
                      standard error (default: $SIGNALBOX_LOG_FORMAT or text)
  --log-level LEVEL   of the json log: debug, info, warn or error (default: $SIGNALBOX_LOG_LEVEL or info)
  --no-watch          do not reload when a file changes; SIGHUP always reloads
  --demo              create a key valid for one day, for the workspace demo or else the first one (the key of an
                      earlier demo is revoked), and print a request to paste; without --config, if there is no routes.yaml,
                      serve the example that comes with Signalbox
  --traffic           with --demo: send a minute of made-up requests to the simulated providers, for a first look at the
                      console; refused where a provider is real
  --help              this text

Exit codes: 0 stopped as requested, 1 start or stop failed, 2 usage.
`;

const LOG_FORMATS = ["text", "json"] as const;

/** Milliseconds. @throws {UsageError} naming the flag. */
function readSeconds(flag: string, value: string, least = 0, most = 3_600) {
  return 1000 * readNumber(flag, value, [least, most], ", in seconds", "number");
}

/** @throws {UsageError} for one without the other. */
function readTlsFiles(
  certFlag: string | undefined,
  keyFlag: string | undefined,
  io: CommandIo,
): TlsFiles | undefined {
  const cert = certFlag ?? io.environment.SIGNALBOX_TLS_CERT ?? "";
  const key = keyFlag ?? io.environment.SIGNALBOX_TLS_KEY ?? "";
  if (cert !== "" && key !== "") return { cert: resolve(io.cwd, cert), key: resolve(io.cwd, key) };
  if (key !== "")
    throw new UsageError("--tls-cert: is needed where --tls-key (SIGNALBOX_TLS_KEY) is given");
  if (cert !== "")
    throw new UsageError("--tls-key: is needed where --tls-cert (SIGNALBOX_TLS_CERT) is given");
  return undefined;
}

/** @throws {UsageError} naming the flag. */
function readWorkers(value: string) {
  return value === "auto"
    ? Math.min(64, availableParallelism())
    : readNumber("--workers", value, [1, 64], ", or auto");
}

/** A string cannot be longer. */
const BODY_BYTES = [1, 512 * 1024 * 1024] as const;

/**
 * Bytes of request bodies in memory at once in each process: a quarter of the machine's or
 * container's memory, divided by the workers. A request takes several times its body's bytes while
 * the body is parsed and sent on. The largest body has to fit into the third that one key gets at
 * most ({@link FairShare}).
 */
function bodyMemoryOf(bodyBytes: number, workers: number): number {
  // Without a limit it is 0, or more than the machine has; by kernel and version.
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.max(3 * bodyBytes, Math.floor(Math.min(constrained, totalmem()) / 4 / workers));
}

/** In the store's folder, which no other user should be able to read. */
function firstKeyFile(database: string, cwd: string) {
  return join(isPostgresUrl(database) ? join(cwd, ".signalbox") : dirname(database), "first-key");
}

/**
 * Milliseconds that evidence is kept for; `null` for ever.
 *
 * @param text days, from the flag or its environment variable. @throws {UsageError} naming `source`
 */
export function readRetention(text: string | undefined, source: string): number | null {
  if (text === undefined || text === "") return null;
  return (
    DAY * readNumber(source, text, [1, LONGEST], " days; leave it out to keep evidence for ever")
  );
}

/** Flags that allow a listener without TLS. */
interface PlainHttp {
  readonly insecureHttp: boolean;
  readonly behindProxy: boolean;
}

const CONSOLE_LISTENERS = ["admin", "public", "off"] as const;

/**
 * @throws {UsageError} naming the flag; and where keys would be pasted into a page that comes over
 * a network in clear.
 */
function readConsole(
  value: string | undefined,
  adminHost: string,
  flags: PlainHttp,
): ConsoleListener {
  const isLocal = isLoopback(adminHost);
  if (value === undefined) return isLocal ? "admin" : "off";
  const listener = readValue("--console", value, CONSOLE_LISTENERS);
  if (listener !== "admin" || isLocal || flags.behindProxy || flags.insecureHttp) return listener;
  throw new UsageError(
    "--console: --admin-host is reached from other machines, and the admin listener has no TLS: serve the console on the " +
      "public listener, or give --behind-proxy or --insecure-http",
  );
}

/** Reads the arguments. @throws {UsageError} naming the flag. */
export function parseServeOptions(argv: readonly string[], io: CommandIo): ServeOptions {
  const { values, positionals } = readArguments(argv, {
    ...textFlags(
      "config",
      "environment",
      "database",
      "port",
      "first-key-file",
      "console",
      "admin-port",
      "workers",
      "tls-cert",
      "tls-key",
      "cache",
      "evidence-retention",
      "log-format",
      "log-level",
    ),
    ...defaultFlags({
      host: "127.0.0.1",
      "behind-proxy": false,
      "insecure-http": false,
      "admin-host": "127.0.0.1",
      drain: "30",
      "max-in-flight": "2000",
      "max-connections": "10000",
      "keep-alive": "75",
      "max-answer-bytes": "33554432",
      "max-body-bytes": "33554432",
      "drain-delay": "0",
      "evidence-delay": "20",
      "evidence-wait": "1",
      "egress-proxy": false,
      "no-watch": false,
      demo: false,
      traffic: false,
    }),
  });
  noArguments(positionals, "name the file with --config");
  if (values.traffic && !values.demo)
    throw new UsageError("--traffic sends made-up requests; add --demo, or leave it out");
  const port = readNumber("--port", values.port ?? io.environment.PORT ?? "8080", PORTS);
  const config = resolve(io.cwd, values.config ?? "routes.yaml");
  const example = values.demo && values.config === undefined && !existsSync(config);
  const database = databasePath(values.database, io);
  const tls = readTlsFiles(values["tls-cert"], values["tls-key"], io);
  const workers = readWorkers(values.workers ?? io.environment.SIGNALBOX_WORKERS ?? "1");
  const bodyBytes = readNumber("--max-body-bytes", values["max-body-bytes"], BODY_BYTES);
  const flags = { insecureHttp: values["insecure-http"], behindProxy: values["behind-proxy"] };
  return {
    config: example ? EXAMPLE : config,
    example,
    environment: readEnvironment(values.environment, io),
    database,
    host: values.host,
    port,
    adminHost: values["admin-host"],
    adminPort: readNumber(
      "--admin-port",
      values["admin-port"] ?? String(port === 0 ? 0 : port + 1),
      PORTS,
    ),
    demo: values.demo,
    traffic: values.traffic,
    drain: readSeconds("--drain", values.drain),
    drainDelay: readSeconds("--drain-delay", values["drain-delay"]),
    workers,
    tls,
    exposure: checkExposure(values.host, tls !== undefined, flags),
    console: readConsole(values.console, values["admin-host"], flags),
    firstKeyFile: resolve(io.cwd, values["first-key-file"] ?? firstKeyFile(database, io.cwd)),
    maxConnections: readNumber("--max-connections", values["max-connections"], [1, 1_000_000]),
    keepAlive: 1000 * readNumber("--keep-alive", values["keep-alive"], [1, 3_600]),
    limits: {
      answerBytes: readNumber("--max-answer-bytes", values["max-answer-bytes"], BODY_BYTES),
      inFlight: readNumber("--max-in-flight", values["max-in-flight"], [1, 1_000_000]),
      bodyBytes,
      bodyMemory: bodyMemoryOf(bodyBytes, workers),
    },
    egressProxy: values["egress-proxy"],
    watch: !values["no-watch"],
    cache: compileCacheAt(values.cache, io.cwd, io.environment),
    evidence: {
      delay: readNumber(
        "--evidence-delay",
        values["evidence-delay"],
        [0, 1_000],
        ", in milliseconds",
        "number",
      ),
      maxWait: readSeconds("--evidence-wait", values["evidence-wait"], 0.1, 60),
    },
    evidenceRetention:
      readRetention(values["evidence-retention"], "--evidence-retention") ??
      readRetention(io.environment[RETENTION_VARIABLE], RETENTION_VARIABLE),
    log: {
      format: readValue(
        "--log-format",
        values["log-format"] ?? io.environment.SIGNALBOX_LOG_FORMAT ?? "text",
        LOG_FORMATS,
      ),
      level: readValue(
        "--log-level",
        values["log-level"] ?? io.environment.SIGNALBOX_LOG_LEVEL ?? "info",
        LOG_LEVELS,
      ),
    },
  };
}

/** Ways to serve other machines. */
const WAYS =
  "give --tls-cert and --tls-key; or --behind-proxy where a proxy in front terminates TLS and only the proxy reaches the port " +
  "(forwarded headers are ignored); or --insecure-http to send keys over the network unencrypted";

/**
 * Bearer keys must not cross a network in clear unless the operator allows it.
 *
 * @returns `null` where nothing leaves this machine in clear.
 * @throws {UsageError} naming the flags; and where two of them exclude each other.
 */
function checkExposure(host: string, hasTls: boolean, flags: PlainHttp): Exposure | null {
  if (flags.insecureHttp && flags.behindProxy) {
    throw new UsageError("--insecure-http: --behind-proxy is given too; leave one of the two out");
  }
  if (flags.insecureHttp && hasTls) {
    throw new UsageError(
      "--insecure-http: a TLS certificate is given too; leave one of the two out",
    );
  }
  if (hasTls || isLoopback(host)) return null;
  if (flags.behindProxy) return "behind_proxy";
  if (flags.insecureHttp) return "insecure_http";
  throw new UsageError(`--host: other machines reach this address, and there is no TLS: ${WAYS}`);
}

/** Names other than `localhost` are not loopback: their address may change. */
function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "");
  if (isIP(bare) === 4) return bare.startsWith("127.");
  return bare.toLowerCase() === "localhost" || /^(?:::|(?:0{1,4}:){7})0{0,3}1$/.test(bare);
}
