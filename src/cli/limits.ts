import { limitRows, type LimitRow } from "../limits/usage.ts";
import { CommandError, type CommandIo } from "./terminal/command-io.ts";
import { loadTable } from "./terminal/configuration.ts";
import { withStore } from "./terminal/open-store.ts";
import {
  DATABASE_HELP,
  defaultFlags,
  TABLE_FORMAT_HELP,
  flagCommand,
  textFlags,
  wantsJson,
  type FlagValues,
} from "./terminal/command-line.ts";

const HELP = `Usage: signalbox limits [flags]

Prints every limit of routes.yaml and its use in the present window, per workspace and key. Amounts that servers have reserved
count as used.

Flags
  --workspace W     Only this workspace.
  --format FORMAT   ${TABLE_FORMAT_HELP}
                    json: one object a line; money in millionths of a US dollar, times in milliseconds since the epoch
  --config FILE     routes.yaml with the limits. Default: routes.yaml.
  --environment NAME
                    merge routes.NAME.yaml over it. Default: SIGNALBOX_ENVIRONMENT, else none.
${DATABASE_HELP}

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

const FLAGS = {
  ...textFlags("format", "workspace", "environment", "database"),
  ...defaultFlags({ config: "routes.yaml" }),
} as const;

export const limits = flagCommand(
  { name: "limits", help: HELP, flags: FLAGS, flagsOnly: "" },
  async (values, io) => {
    const json = wantsJson(values.format);
    const rows = await readRows(io, values);
    if (json) for (const row of rows) io.stdout(`${JSON.stringify(row)}\n`);
    else if (rows.length === 0) io.stdout("no limits\n");
    else for (const row of rows) io.stdout(`${formatRow(row)}\n`);
  },
);

type Values = FlagValues<typeof FLAGS>;

async function readRows(io: CommandIo, { config, environment, workspace, database }: Values) {
  const { table } = await loadTable(io, config, environment);
  const workspaces = Object.values(table.workspaces).filter(
    ({ id }) => workspace === undefined || id === workspace,
  );
  if (workspace !== undefined && workspaces.length === 0)
    throw new CommandError("--workspace: routes.yaml has no workspace of that name");
  return withStore(database, io, false, async (store) => {
    const now = Date.now();
    const keys = await store.keys.list();
    const live = keys.filter(({ status, expiresAt }) => status === "active" && expiresAt > now);
    return limitRows(workspaces, live, await store.limits.read(now), now);
  });
}

function formatRow({ workspace, key, measure, window, used, limit, resetsAt }: LimitRow): string {
  const fields = [
    workspace,
    key ?? "-",
    window === null ? measure : `${measure === "micro_usd" ? "usd" : measure}/${window}`,
    measure === "micro_usd" ? `${dollars(used)} of ${dollars(limit)}` : `${used} of ${limit}`,
    `${Math.floor((used / limit) * 100)} %`,
    resetsAt === null ? "-" : `until ${new Date(resetsAt).toISOString().replace(".000Z", "Z")}`,
  ];
  return fields.join("  ");
}

function dollars(micro: number) {
  return String(micro / 1_000_000);
}
