import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import {
  comparePrices,
  differenceText,
  parsePriceList,
  PRICE_FILE,
  type ComparedPrice,
} from "../compile/prices.ts";
import type { Price } from "../canon/table.ts";
import { CommandError, type CommandIo } from "./terminal/command-io.ts";
import {
  defaultFlags,
  flagCommand,
  shownPath,
  TABLE_FORMAT_HELP,
  textFlags,
  wantsJson,
} from "./terminal/command-line.ts";
import { loadTable } from "./terminal/configuration.ts";
import { formatTable } from "./terminal/printing.ts";
import { createFiles, fileBelow, replaceFile } from "./terminal/write-file.ts";

const HELP = `Usage: signalbox prices [flags]

Prints the price of each endpoint beside the list price of its provider, in US dollars per million tokens: input/output.
Endpoints whose model the list does not have are left out. The list of this release is used, or ${PRICE_FILE} beside routes.yaml.

Flags
  --update FILE     check a newer list and store it as ${PRICE_FILE} beside routes.yaml first
  --format FORMAT   ${TABLE_FORMAT_HELP}
                    json: one object a line
  --config FILE     routes.yaml with the endpoints. Default: routes.yaml.
  --environment NAME
                    merge routes.NAME.yaml over it. Default: SIGNALBOX_ENVIRONMENT, else none.

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

const FLAGS = {
  ...textFlags("format", "environment", "update"),
  ...defaultFlags({ config: "routes.yaml" }),
} as const;

export const prices = flagCommand(
  { name: "prices", help: HELP, flags: FLAGS, flagsOnly: "" },
  async ({ format, environment, update, config }, io) => {
    const json = wantsJson(format);
    if (update !== undefined) await updateList(update, config, io);
    const { table, expanded } = await loadTable(io, config, environment);
    const compared = comparePrices(table, expanded);
    if (json) for (const row of compared) io.stdout(`${JSON.stringify(row)}\n`);
    else io.stdout(pricesText(compared, expanded.list.date));
  },
);

async function updateList(update: string, config: string, io: CommandIo) {
  const source = resolve(io.cwd, update);
  const text = await readFile(source, "utf8").catch(() => {
    throw new CommandError("--update: the file cannot be read; check its path and permissions");
  });
  const list = parsePriceList(text);
  if (typeof list === "string") throw new CommandError(`--update: ${list}`);
  const folder = dirname(resolve(io.cwd, config));
  const file = fileBelow({ path: folder, shown: shownPath(io.cwd, folder) }, PRICE_FILE, text);
  await (existsSync(file.path) ? replaceFile(file) : createFiles([file]));
  io.stdout(`wrote ${file.shown}\n`);
}

function pricesText(compared: readonly ComparedPrice[], date: string): string {
  if (compared.length === 0) return `no endpoint of a model in the list of ${date}\n`;
  const rows = compared.map((row) => [
    row.endpoint,
    row.model,
    shown(row.price),
    shown(row.listed.price),
    row.fromList ? "from the list" : comparison(row),
    row.listed.source,
  ]);
  return formatTable([["ENDPOINT", "MODEL", "PRICE", `LIST ${date}`, "", "SOURCE"], ...rows]);
}

/** Names each rate that differs: the columns of prices have only two of them. */
function comparison(row: ComparedPrice): string {
  if (row.price === null) return "no price";
  return row.differing.length === 0 ? "same" : `differs: ${differenceText(row)}`;
}

function shown(price: Partial<Pick<Price, "input" | "output">> | null) {
  return price === null ? "-" : `${price.input}/${price.output}`;
}
