import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  type NewExchange,
  TOKEN_LIFETIME,
  undeclaredValue,
  type DeclaredValues,
} from "../canon/credentials/service-key.ts";
import { BUDGET_PERIODS, type KeyLimits } from "../canon/limits.ts";
import { formatTime } from "../canon/rfc3339.ts";
import { SCOPES } from "../canon/identity.ts";
import { describeKey, statusOf } from "../http/control/service-keys/key-page.ts";
import {
  KeyOptionError,
  createKey,
  rotateKey,
  type CreatedKey,
  type KeyField,
} from "../keys/key-record.ts";
import { KeyRotatedError, type KeyRecord } from "../keys/key-store.ts";
import { parseKeyText } from "../keys/key-text.ts";
import { CommandError, UsageError, type CommandIo } from "./terminal/command-io.ts";
import {
  commandGroup,
  DATABASE_HELP,
  didYouMean,
  listItems,
  readDuration,
  readInstant,
  readNumber,
  readValue,
  required,
  switches,
  TABLE_FORMAT_HELP,
  textFlags,
  wantsJson,
  type FlagValues,
} from "./terminal/command-line.ts";
import { loadTable } from "./terminal/configuration.ts";
import { databasePath, withStore } from "./terminal/open-store.ts";
import { formatTable, jsonText } from "./terminal/printing.ts";

const GRANT_HELP = `
  --exchange D              The key may be exchanged for tokens that live this long at most: 60s to 15m.
  --exchange-operations A,B What tokens may do. Default: all that the key may.
  --exchange-routes A,B     Routes that tokens may use. Default: all that the workspace may.
  --exchange-origins A,B    Web origins, one of which every token must be bound to.

  --requests-per-minute N   Limits of this key, beside its workspace's.
  --tokens-per-minute N     Input and output together.
  --concurrency N           Requests running at once.
  --budget-usd X            Money per --budget-per.
  --budget-tokens N         Tokens instead of money.
  --budget-per P            hour, day, week or month.
  --budget-time-zone Z      Where they begin, such as Europe/Berlin. Default: UTC.
`;

const HELP = `Usage: signalbox keys <command> [flags]

Commands
  create            Makes a service key and prints it, once, alone on a line of stdout.
  list              Lists keys, newest first. Never shows a secret.
  revoke ID         Revokes a key now, for good.
  rotate ID         Makes a key with the same grants; the old one still works for the overlap.

Flags of create
  --name N          A name for people, such as checkout-prod; rotations keep it.
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

const CREATE_FLAGS = [
  "name",
  "workspace",
  "scopes",
  "owner",
  "expires",
  "key-environment",
  "workload",
  "labels",
  "config",
  "environment",
  "exchange",
  "exchange-operations",
  "exchange-routes",
  "exchange-origins",
  "requests-per-minute",
  "tokens-per-minute",
  "concurrency",
  "budget-usd",
  "budget-tokens",
  "budget-per",
  "budget-time-zone",
] as const;

const FLAGS = {
  ...textFlags("format", "database", "overlap", ...CREATE_FLAGS),
  ...switches("quiet", "create"),
} as const;

type Values = FlagValues<typeof FLAGS>;

export const keys = commandGroup({
  name: "keys",
  help: HELP,
  flags: FLAGS,
  common: ["format", "database"],
  commands: {
    create: { flags: [...CREATE_FLAGS, "quiet", "create"], run: create },
    list: { flags: ["workspace"], run: listKeys },
    revoke: { flags: ["quiet"], argument: "ID", run: revoke },
    rotate: { flags: ["overlap", "expires", "quiet"], argument: "ID", run: rotate },
  },
});

async function create(values: Values, io: CommandIo) {
  // Read before the key is created: a key that cannot be printed is lost.
  const json = wantsJson(values.format);
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
    ...(values.name !== undefined && { name: values.name }),
    ...(values["key-environment"] !== undefined && { environment: values["key-environment"] }),
    ...(values.workload !== undefined && { workload: values.workload }),
  };
  const created = await namingFlags(() => createKey(options, Date.now, randomBytes));
  await refuseUndeclaredNames(values, options, io);
  refuseNewDatabase(values, io);
  await withStore(values.database, io, true, (store) => store.keys.create(created.record));
  printSecret(
    created,
    "Keep the key now; it is not shown again.",
    { json, quiet: values.quiet },
    io,
  );
}

async function listKeys({ format, workspace, database }: Values, io: CommandIo) {
  const json = wantsJson(format);
  const records = await withStore(database, io, false, (store) =>
    store.keys.list(workspace === undefined ? {} : { workspace }),
  );
  const now = Date.now();
  io.stdout(
    json ? jsonText(records.map((record) => describeKey(record, now))) : formatKeys(records, now),
  );
}

async function revoke({ format, database, quiet }: Values, io: CommandIo, argument: string) {
  const json = wantsJson(format);
  const now = Date.now();
  const record = await withStore(database, io, false, (store) =>
    store.keys.revoke(keyId(argument), now),
  );
  if (record === null) throw noSuchKey();
  if (json) io.stdout(jsonText(describeKey(record, now)));
  else if (quiet !== true) {
    io.stderr(
      `Revoked ${record.id} of ${record.workspace}. Running servers refuse it within one second.\n`,
    );
  }
}

async function rotate(values: Values, io: CommandIo, argument: string) {
  const json = wantsJson(values.format);
  const id = keyId(argument);
  const overlap = values.overlap === undefined ? undefined : readDuration(values.overlap);
  if (overlap === null) throw new UsageError("--overlap: give a duration such as 24h, 30m or 0");
  const options = {
    createdBy: "cli",
    ...(overlap !== undefined && { overlap }),
    ...(values.expires !== undefined && { expiresAt: readExpiry(values.expires) }),
  };
  const rotated = await withStore(values.database, io, false, async (store) => {
    try {
      return await namingFlags(() => rotateKey(store.keys, id, options, Date.now, randomBytes));
    } catch (error) {
      throw error instanceof KeyRotatedError ? alreadyRotated(await store.keys.get(id)) : error;
    }
  });
  if (rotated === null) throw noSuchKey();
  const until = formatTime(rotated.previous.expiresAt);
  printSecret(
    rotated,
    `It replaces ${id}, which works until ${until}. Keep the key now; it is not shown again.`,
    { json, quiet: values.quiet },
    io,
  );
}

/** The only function that prints the text of a key. */
function printSecret(
  { text, record }: CreatedKey,
  note: string,
  { json, quiet }: { readonly json: boolean; readonly quiet: boolean | undefined },
  io: CommandIo,
) {
  if (json) {
    io.stdout(jsonText({ key: text, ...describeKey(record, record.createdAt) }));
    return;
  }
  io.stdout(`${text}\n`);
  if (quiet === true) return;
  const expiry = formatTime(record.expiresAt);
  io.stderr(
    `Made ${record.id} for ${record.workspace} (${record.scopes.join(", ")}), expires ${expiry}. ${note}\n`,
  );
}

/** Accepts a whole key too: after a leak, people have the key and not its id. */
function keyId(argument: string) {
  return parseKeyText(argument)?.publicId ?? argument;
}

function readExpiry(text: string) {
  return readInstant("--expires", text, 1, "90d");
}

/** Flags whose names differ from the fields that they set. */
const FLAG_OF: Partial<Record<KeyField, string>> = {
  expires_at: "--expires",
  environment: "--key-environment",
  "exchange.maximum_lifetime": "--exchange",
  "limits.budget": "--budget-usd",
  key: "key",
};

/** The error about a field of a key, by the flag that sets it. */
function flagError({ field, fix }: { readonly field: KeyField; readonly fix: string }): UsageError {
  const flag = `--${field.replace("limits.", "").replaceAll(/[._]/g, "-")}`;
  return new UsageError(`${FLAG_OF[field] ?? flag}: ${fix}`);
}

async function namingFlags<Result>(action: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof KeyOptionError ? flagError(error) : error;
  }
}

function noSuchKey() {
  return new CommandError("there is no such key in this database; see: signalbox keys list");
}

/** Names the replacement, which can be rotated even if its text is lost. */
function alreadyRotated(key: KeyRecord | null): CommandError {
  if (key === null || key.replacedBy === null) return noSuchKey();
  const until = formatTime(key.expiresAt);
  return new CommandError(
    `${key.id} has been rotated already: ${key.replacedBy} replaced it, and it works until ${until}. To rotate again: signalbox keys rotate ${key.replacedBy}`,
  );
}

function formatKeys(records: readonly KeyRecord[], now: number): string {
  if (records.length === 0) return "No keys.\n";
  const head =
    "ID,NAME,OWNER,STATUS,WORKSPACE,ENVIRONMENT,SCOPES,LABELS,EXPIRES,LAST USED,LIMITS,EXCHANGE";
  return formatTable([
    head.split(","),
    ...records.map((record) => [
      record.id,
      record.name ?? "-",
      record.owner,
      statusOf(record, now),
      record.workspace,
      record.environment,
      record.scopes.join(","),
      record.labels.join(",") || "-",
      formatTime(record.expiresAt).slice(0, 16),
      formatTime(record.lastUsedAt)?.slice(0, 16) ?? "never",
      formatLimits(record.limits),
      record.exchange === null ? "no" : `${record.exchange.maximumLifetime}s`,
    ]),
  ]);
}

function formatLimits(limits: KeyRecord["limits"]): string {
  if (limits === null) return "none";
  const { requestsPerMinute, tokensPerMinute, concurrency, budget } = limits;
  return [
    requestsPerMinute !== null && `${requestsPerMinute} requests/min`,
    tokensPerMinute !== null && `${tokensPerMinute} tokens/min`,
    concurrency !== null && `${concurrency} at once`,
    budget !== null &&
      `${"usd" in budget ? `${budget.usd} USD` : `${budget.tokens} tokens`}/${budget.per}${budget.timeZone === undefined ? "" : ` ${budget.timeZone}`}`,
  ]
    .filter((part) => part !== false)
    .join(", ");
}

/** `null` without `--exchange`. @throws {UsageError} */
function readExchange(values: Values): NewExchange | null {
  const lists = {
    operations: listOrNull(values["exchange-operations"]),
    routes: listOrNull(values["exchange-routes"]),
    origins: listOrNull(values["exchange-origins"]),
  };
  if (values.exchange === undefined) {
    const [without] = Object.entries(lists).find(([, list]) => list !== null) ?? [];
    if (without !== undefined)
      throw new UsageError(`--exchange-${without}: needs --exchange, such as --exchange 10m`);
    return null;
  }
  const lifetime = readDuration(values.exchange);
  if (lifetime === null) {
    const { minimum, maximum } = TOKEN_LIFETIME;
    throw new UsageError(`--exchange: give a duration from ${minimum}s to ${maximum / 60}m`);
  }
  return { maximumLifetime: lifetime / 1_000, ...lists };
}

/** All `null` without the flags. @throws {UsageError} */
function readLimits(values: Values): KeyLimits {
  return {
    requestsPerMinute: readCount(values["requests-per-minute"]),
    tokensPerMinute: readCount(values["tokens-per-minute"]),
    concurrency: readCount(values.concurrency),
    budget: readBudget(values),
  };
}

function readBudget(values: Values): KeyLimits["budget"] {
  const {
    "budget-usd": usd,
    "budget-tokens": tokens,
    "budget-per": per,
    "budget-time-zone": timeZone,
  } = values;
  if ([usd, tokens, per, timeZone].every((value) => value === undefined)) return null;
  if (usd !== undefined && tokens !== undefined)
    throw new UsageError(
      "--budget-tokens: a budget is of money or of tokens; leave out one of the two",
    );
  const amount =
    tokens === undefined
      ? { usd: readAmount(required(usd, "--budget-usd", "50")) }
      : { tokens: readNumber("--budget-tokens", tokens, [1, 1e12]) };
  const period = readValue("--budget-per", required(per, "--budget-per", "day"), BUDGET_PERIODS);
  return { ...amount, per: period, ...(timeZone !== undefined && { timeZone }) };
}

/** NaN, which no key accepts, for text that is not a number. */
function readAmount(text: string) {
  return /^\d{1,15}(?:\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
}

function readCount(text: string | undefined) {
  return text === undefined ? null : readAmount(text);
}

function listOrNull(text: string | undefined) {
  return text === undefined ? null : listItems(text);
}

/** @throws {CommandError} where a new database would be created by accident: no server reads it. */
function refuseNewDatabase(flags: Values, io: CommandIo) {
  const path = databasePath(flags.database, io);
  if (flags.create === true || !isDefaultDatabase(flags, io) || existsSync(path)) return;
  throw new CommandError(
    `there is no database at ${path}; start "signalbox serve" in this folder first, name another database with --database, or give --create to create this one`,
  );
}

/**
 * Compares the key with the names that routes.yaml declares: the file of `--config`, or the one
 * beside the default database.
 */
async function refuseUndeclaredNames(
  flags: Values,
  key: DeclaredValues & { readonly workspace: string },
  io: CommandIo,
) {
  const config = flags.config ?? "routes.yaml";
  const hasDefaultConfig = isDefaultDatabase(flags, io) && existsSync(resolve(io.cwd, config));
  if (flags.config === undefined && !hasDefaultConfig) {
    // `--environment` was once the key's environment: ignoring it would create a production key.
    if (flags.environment === undefined) return;
    throw new UsageError(
      "--environment: has an effect only with --config; the environment of the key is set with --key-environment",
    );
  }
  const { table, file } = await loadTable(io, config, flags.environment);
  const workspaces = Object.keys(table.workspaces);
  if (!workspaces.includes(key.workspace)) {
    throw new UsageError(
      `--workspace: ${file} has no workspace of that name${didYouMean(key.workspace, workspaces)}`,
    );
  }
  const undeclared = undeclaredValue(key, table);
  if (undeclared !== null) throw flagError(undeclared);
}

/** Whether no flag or variable names the database. */
function isDefaultDatabase({ database }: Values, { environment }: CommandIo): boolean {
  const { SIGNALBOX_DATABASE_URL: url, SIGNALBOX_DATABASE: file } = environment;
  return [database, url, file].every((value) => value === undefined || value === "");
}
