import { randomBytes } from "node:crypto";
import { SCOPES } from "../canon/identity.ts";
import { formatTime, readTime } from "../canon/rfc3339.ts";
import { GRANT_FLAGS, GRANT_HELP, keyUsage, readExchange, readLimits } from "./key-grant-flags.ts";
import { databaseForNewKey, refuseUndeclaredNames } from "./new-key.ts";
import {
  DATABASE_HELP,
  TABLE_FORMAT_HELP,
  listItems,
  noArguments,
  onlyArgument,
  readDuration,
  readValue,
  required,
  switches,
  textFlags,
  wantsJson,
  type readArguments,
} from "./terminal/arguments.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "./terminal/command-io.ts";
import { databasePath, withStore } from "./terminal/open-store.ts";
import { formatTable, jsonText } from "./terminal/printing.ts";
import { runSubcommand, type Subcommand } from "./terminal/run.ts";
import { describeKey, statusOf } from "../http/control/service-keys/key-json.ts";
import { KeyOptionError } from "../keys/key-grants.ts";
import { createKey, rotateKey } from "../keys/key-record.ts";
import { KeyRotatedError, type KeyRecord } from "../keys/key-store.ts";
import { parseKeyText } from "../keys/key-text.ts";

const HELP = `Usage: signalbox keys <command> [flags]

Commands
  create            Makes a service key and prints it, once, alone on a line of stdout.
  list              Lists keys, newest first. Never shows a secret.
  revoke ID         Revokes a key now, for good.
  rotate ID         Makes a key with the same grants; the old one still works for the overlap.

Flags of create
  --workspace W     The workspace that the key acts for. Required.
  --scopes A,B      inference, catalogue:read, route:simulate, governance:read, spend:read,
                    operations:manage, policies:approve, platform:manage. Required.
  --owner O         Owner of the key, such as group:payments. Required.
  --expires T       A duration such as 90d, or an RFC 3339 time; at most 400 days from now. Required.
  --key-environment E
                    1 to 16 characters of a-z and 0-9, part of the key's text. Default: production.
  --workload X      The workload it is for.
  --labels A,B      Labels that policies can read.
  --config FILE     routes.yaml that must declare workspace and labels. Default: that of the current folder, unless
                    the database is named.
  --environment E   The overlay of that file: routes.E.yaml is merged over it. Default: SIGNALBOX_ENVIRONMENT.
  --create          Makes the database of the current folder if there is none.
${GRANT_HELP}
Flags of rotate
  --overlap D       How long the old key still works, such as 24h (the default), 30m or 0.
  --expires T       When the new key expires. Default: after the lifetime of the old one.

Flags of every command
  --workspace W     (list) Only keys of this workspace.
  --format FORMAT   ${TABLE_FORMAT_HELP}
  --quiet           Prints nothing on stderr on success.
${DATABASE_HELP}

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

const FLAGS = {
  ...textFlags(
    "format",
    "database",
    "workspace",
    "scopes",
    "owner",
    "expires",
    "key-environment",
    "config",
  ),
  ...textFlags("environment", "workload", "labels", "overlap"),
  ...switches("quiet", "create"),
  ...GRANT_FLAGS,
} as const;

type Values = ReturnType<typeof readArguments<typeof FLAGS>>["values"];

const COMMANDS: Readonly<Record<string, Subcommand<Values>>> = {
  create: {
    flags: Object.keys(FLAGS).filter((flag) => flag !== "overlap"),
    run: printable(create),
  },
  list: { flags: ["workspace"], run: printable(list) },
  revoke: { flags: ["quiet"], run: printable(revoke) },
  rotate: { flags: ["overlap", "expires", "quiet"], run: printable(rotate) },
};

/** Before anything is done: a key that was made and not printed is lost. */
function printable(run: Subcommand<Values>["run"]): Subcommand<Values>["run"] {
  return (values, positionals, io) => {
    wantsJson(values.format);
    return run(values, positionals, io);
  };
}

export function keys(argv: readonly string[], io: CommandIo): Promise<number> {
  const line = {
    name: "keys",
    help: HELP,
    flags: FLAGS,
    common: ["format", "database"],
    commands: COMMANDS,
  };
  return runSubcommand(line, argv, io);
}

async function create(
  values: Values,
  positionals: readonly string[],
  io: CommandIo,
): Promise<number> {
  noArguments(positionals);
  const options = {
    workspace: required(values.workspace, "--workspace", "acme-prod"),
    scopes: listItems(required(values.scopes, "--scopes", "inference")).map((scope) =>
      readValue("--scopes", scope, SCOPES),
    ),
    owner: required(values.owner, "--owner", "group:payments"),
    expiresAt: readExpiry(required(values.expires, "--expires", "90d")),
    labels: listItems(values.labels),
    exchange: readExchange(values),
    limits: readLimits(values),
    createdBy: "cli",
    ...(values["key-environment"] !== undefined && { environment: values["key-environment"] }),
    ...(values.workload !== undefined && { workload: values.workload }),
  };
  const { text, record } = namingFlags(() => createKey(options, Date.now, randomBytes));
  await refuseUndeclaredNames(values, options, io);
  const database = databaseForNewKey(values, io);
  await withStore(database, true, (store) => store.keys.create(record));
  printSecret(text, record, values, io, "Keep the key now; it is not shown again.");
  return EXIT.ok;
}

async function list(
  values: Values,
  positionals: readonly string[],
  io: CommandIo,
): Promise<number> {
  noArguments(positionals);
  const filter = values.workspace === undefined ? {} : { workspace: values.workspace };
  const records = await withStore(databasePath(values.database, io), false, (store) =>
    store.keys.list(filter),
  );
  const now = Date.now();
  io.stdout(
    wantsJson(values.format)
      ? jsonText(records.map((record) => describeKey(record, now)))
      : formatKeys(records, now),
  );
  return EXIT.ok;
}

async function revoke(
  values: Values,
  positionals: readonly string[],
  io: CommandIo,
): Promise<number> {
  const id = readKeyId(positionals);
  const now = Date.now();
  const record = await withStore(databasePath(values.database, io), false, (store) =>
    store.keys.revoke(id, now),
  );
  if (record === null) throw noSuchKey();
  if (wantsJson(values.format)) io.stdout(jsonText(describeKey(record, now)));
  else if (values.quiet !== true) {
    io.stderr(
      `Revoked ${record.id} of ${record.workspace}. Running servers refuse it within one second.\n`,
    );
  }
  return EXIT.ok;
}

async function rotate(
  values: Values,
  positionals: readonly string[],
  io: CommandIo,
): Promise<number> {
  const id = readKeyId(positionals);
  const overlap = values.overlap === undefined ? undefined : readDuration(values.overlap);
  if (overlap === null) throw new UsageError("--overlap: give a duration such as 24h, 30m or 0");
  const options = {
    createdBy: "cli",
    ...(overlap !== undefined && { overlap }),
    ...(values.expires !== undefined && { expiresAt: readExpiry(values.expires) }),
  };
  const rotated = await withStore(databasePath(values.database, io), false, async (store) => {
    try {
      return await rotateKey(store.keys, id, options, Date.now, randomBytes);
    } catch (error) {
      if (error instanceof KeyRotatedError) throw alreadyRotated(await store.keys.get(id));
      throw namingFlag(error);
    }
  });
  if (rotated === null) throw noSuchKey();
  const until = new Date(rotated.previous.expiresAt).toISOString();
  printSecret(
    rotated.text,
    rotated.record,
    values,
    io,
    `It replaces ${id}, which works until ${until}. Keep the key now; it is not shown again.`,
  );
  return EXIT.ok;
}

/** The only function through which a key's text leaves the process. */
function printSecret(
  text: string,
  record: KeyRecord,
  values: Values,
  io: CommandIo,
  remark: string,
): void {
  if (wantsJson(values.format)) {
    io.stdout(jsonText({ key: text, ...describeKey(record, record.createdAt) }));
    return;
  }
  io.stdout(`${text}\n`);
  if (values.quiet === true) return;
  const expiry = new Date(record.expiresAt).toISOString();
  io.stderr(
    `Made ${record.id} for ${record.workspace} (${record.scopes.join(", ")}), expires ${expiry}. ${remark}\n`,
  );
}

/** Takes a whole key as well: who must revoke a leaked one has the key at hand, not its id. */
function readKeyId(positionals: readonly string[]): string {
  const given = onlyArgument(positionals, "ID");
  return parseKeyText(given)?.publicId ?? given;
}

function readExpiry(text: string): number {
  const duration = readDuration(text);
  const time = duration === null ? readTime(text) : Date.now() + duration;
  if (time === null)
    throw new UsageError("--expires: give a duration such as 90d, or an RFC 3339 time");
  return time;
}

function namingFlags<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    throw namingFlag(error);
  }
}

function namingFlag(error: unknown): unknown {
  return error instanceof KeyOptionError ? keyUsage(error) : error;
}

function noSuchKey(): CommandError {
  return new CommandError("there is no such key in this database; see: signalbox keys list");
}

/**
 * The status of a key that was rotated already, with the id of the key that replaced it: that one
 * can be rotated even if its text is gone.
 */
function alreadyRotated(key: KeyRecord | null): CommandError {
  if (key === null || key.replacedBy === null) return noSuchKey();
  const until = new Date(key.expiresAt).toISOString();
  return new CommandError(
    `${key.id} has been rotated already: ${key.replacedBy} replaced it, and it works until ${until}. To rotate again: signalbox keys rotate ${key.replacedBy}`,
  );
}

function formatKeys(records: readonly KeyRecord[], now: number): string {
  if (records.length === 0) return "No keys.\n";
  return formatTable([
    [
      "ID",
      "STATUS",
      "WORKSPACE",
      "ENVIRONMENT",
      "SCOPES",
      "LABELS",
      "OWNER",
      "EXPIRES",
      "LAST USED",
      "LIMITS",
      "EXCHANGE",
    ],
    ...records.map((record) => [
      record.id,
      statusOf(record, now),
      record.workspace,
      record.environment,
      record.scopes.join(","),
      record.labels.length === 0 ? "-" : record.labels.join(","),
      record.owner,
      new Date(record.expiresAt).toISOString().slice(0, 16),
      formatTime(record.lastUsedAt)?.slice(0, 16) ?? "never",
      formatLimits(record.limits),
      record.exchange === null ? "no" : `${record.exchange.maximumLifetime}s`,
    ]),
  ]);
}

function formatLimits(limits: KeyRecord["limits"]): string {
  if (limits === null) return "none";
  const { requestsPerMinute, tokensPerMinute, concurrency, budget } = limits;
  const parts = [
    requestsPerMinute === null ? "" : `${requestsPerMinute} requests/min`,
    tokensPerMinute === null ? "" : `${tokensPerMinute} tokens/min`,
    concurrency === null ? "" : `${concurrency} at once`,
    budget === null
      ? ""
      : `${"usd" in budget ? `${budget.usd} USD` : `${budget.tokens} tokens`}/${budget.per}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}
