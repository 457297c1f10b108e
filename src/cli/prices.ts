import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  comparePrices,
  parsePriceList,
  PRICE_FILE,
  PRICE_LIST,
  type ComparedPrice,
  type PriceList,
} from "../compile/prices.ts";
import type { Price } from "../canon/table.ts";
import { CommandError, EXIT, type CommandIo } from "./terminal/command-io.ts";
import {
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
  config: { type: "string", default: "routes.yaml" },
} as const;

export const prices = flagCommand(
  { name: "prices", help: HELP, flags: FLAGS, flagsOnly: "" },
  async ({ format, environment, update, config }, io) => {
    const json = wantsJson(format);
    if (update !== undefined) await updateList(update, config, io);
    const { table, presets } = await loadTable(io, config, environment);
    const list = await loadPriceList(resolve(io.cwd, config));
    const compared = comparePrices(table, presets, list);
    if (json) for (const row of compared) io.stdout(`${JSON.stringify(row)}\n`);
    else io.stdout(pricesText(compared, list.date));
    return EXIT.ok;
  },
);

/**
 * The price list of a configuration: that of its folder, or that of this release.
 *
 * @param config path of routes.yaml. @throws {CommandError} for a file that is no price list.
 */
export async function loadPriceList(config: string): Promise<PriceList> {
  const text = await readFile(join(dirname(config), PRICE_FILE), "utf8").catch(() => null);
  return text === null ? PRICE_LIST : checkedList(text, PRICE_FILE);
}

async function updateList(update: string, config: string, io: CommandIo): Promise<void> {
  const source = resolve(io.cwd, update);
  const text = await readFile(source, "utf8").catch(() => {
    throw new CommandError("--update: the file cannot be read; check its path and permissions");
  });
  checkedList(text, "--update");
  const folder = dirname(resolve(io.cwd, config));
  const file = fileBelow({ path: folder, shown: shownPath(io.cwd, folder) }, PRICE_FILE, text);
  const isThere = await readFile(file.path).then(
    () => true,
    () => false,
  );
  await (isThere ? replaceFile(file) : createFiles([file]));
  io.stdout(`wrote ${file.shown}\n`);
}

function checkedList(text: string, where: string): PriceList {
  const list = parsePriceList(text);
  if (typeof list === "string") throw new CommandError(`${where}: ${list}`);
  return list;
}

function pricesText(compared: readonly ComparedPrice[], date: string): string {
  if (compared.length === 0) return `no endpoint of a model in the list of ${date}\n`;
  const rows = compared.map(({ endpoint, model, price, listed, differing }) => [
    endpoint,
    model,
    shown(price),
    shown(listed.price),
    price === null ? "no price" : differing.length > 0 ? "differs" : "same",
    listed.source,
  ]);
  return formatTable([["ENDPOINT", "MODEL", "PRICE", `LIST ${date}`, "", "SOURCE"], ...rows]);
}

function shown(price: Partial<Pick<Price, "input" | "output">> | null): string {
  return price === null ? "-" : `${price.input}/${price.output}`;
}
