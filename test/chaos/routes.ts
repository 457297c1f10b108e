import { DIALECTS, type DialectName } from "../../src/dialects/table.ts";
import { COLUMNS, type Column } from "./columns.ts";
import { faultsOf, type Fault } from "./faults.ts";

/** One fault of one upstream under one surface, with or without a healthy fallback. */
export interface Cell {
  /** Also the public name of the cell's route and of its endpoint. */
  readonly id: string;
  readonly column: Column;
  readonly fault: Fault;
  readonly hasFallback: boolean;
}

/** The whole matrix. */
export const CELLS: readonly Cell[] = COLUMNS.flatMap((column) =>
  faultsOf(column).flatMap((fault, index) =>
    [false, true].map((hasFallback) => ({
      id: `${column.id}.${index}${hasFallback ? ".saved" : ""}`,
      column,
      fault,
      hasFallback,
    })),
  ),
);

/**
 * Each fault once on each surface, streamed and whole: by turns over the protocols that the surface
 * is tried over, and by turns with and without a fallback.
 */
export function representatives(cells: readonly Cell[]): readonly Cell[] {
  const alike = Object.groupBy(
    cells,
    ({ column, fault }) => `${column.surface.name} ${column.stream} ${fault.name}`,
  );
  const chosen = new Set(
    Object.values(alike).map(
      (some = [], index) => some[(index + Math.floor(index / some.length)) % some.length],
    ),
  );
  return cells.filter((cell) => chosen.has(cell));
}

/**
 * Route of the same column whose upstream is well; what its answer says is what a success must say.
 */
export function healthyRoute({ id }: Column): string {
  return `${id}.well`;
}

/** Route to the fallback of a column alone. */
export function spareRoute({ id }: Column): string {
  return `${id}.spare`;
}

/** Milliseconds. Nothing that is only slow is taken for dead, even on a busy machine. */
const PATIENT = {
  connect: "10s",
  first_byte: "15s",
  idle: "15s",
  first_token: "20s",
  total: "30s",
};

/**
 * For providers that fall silent: the time after which they are given up is what such a cell takes.
 */
const IMPATIENT = {
  connect: "4s",
  first_byte: "3500ms",
  idle: "2500ms",
  first_token: "5s",
  total: "9s",
};

const SERVED: readonly DialectName[] = [
  ...new Set(COLUMNS.flatMap(({ dialect, spare }) => [dialect, spare])),
];

const CATEGORIES = {
  sexual: ["sexual"],
  hate_and_discrimination: ["hate", "harassment"],
  violence_and_threats: ["violence"],
  dangerous: ["illicit"],
  criminal: ["illicit", "illicit/violent"],
  selfharm: ["self-harm"],
  health: [],
  financial: [],
  law: [],
  pii: [],
  jailbreaking: [],
};

/**
 * A routes.yaml with a route and an endpoint of its own for every cell, so that no cell can spoil
 * another one's.
 *
 * @param upstream scheme and host of the simulated provider.
 * @param others more providers of chat completions by name, with their addresses; cells whose ids
 * begin with the name go there.
 */
export function chaosRoutes(
  upstream: string,
  cells: readonly Cell[] = CELLS,
  others: Readonly<Record<string, string>> = {},
): object {
  const providers: Readonly<Record<string, object>> = Object.fromEntries([
    ...SERVED.flatMap((dialect) => [
      [`${dialect}-patient`, provider(upstream, dialect, PATIENT)],
      [`${dialect}-impatient`, provider(upstream, dialect, IMPATIENT)],
    ]),
    ...Object.entries(others).map(([name, address]) => [
      name,
      provider(address, "openai-chat", IMPATIENT),
    ]),
  ]);
  const routes: Readonly<Record<string, object>> = Object.fromEntries([
    ...COLUMNS.flatMap((column) => [
      [healthyRoute(column), { primary: healthyRoute(column) }],
      [spareRoute(column), { primary: spareRoute(column) }],
    ]),
    ...cells.map(({ id, column, hasFallback }) => [
      id,
      { primary: id, ...(hasFallback ? { fallbacks: [spareRoute(column)] } : {}) },
    ]),
  ]);
  const providerOf = (id: string, { dialect }: Column, { silent }: Fault): string =>
    Object.keys(others).find((name) => id.startsWith(`${name}.`)) ??
    `${dialect}-${silent ? "impatient" : "patient"}`;
  return {
    version: 1,
    regions: { world: ["global"] },
    providers,
    models: MODELS,
    endpoints: [
      ...COLUMNS.flatMap((column) => [
        endpoint(healthyRoute(column), column, column.dialect, []),
        endpoint(spareRoute(column), column, column.spare, []),
      ]),
      ...cells.map(({ id, column, fault }) =>
        endpoint(id, column, column.dialect, fault.settings, providerOf(id, column, fault)),
      ),
    ],
    routes,
    workspaces: {
      chaos: {
        tier: "standard",
        approve: {
          routes: Object.keys(routes),
          regions: ["world"],
          providers: Object.keys(providers),
          dimensions: [8],
          context_window: 8_000,
        },
      },
    },
    policies: { dir: "policies", initial_mode: { "*": "shadow" } },
  };
}

const GENERATES = {
  operations: ["generate"],
  max_output_tokens: 64_000,
  default_max_output_tokens: 8_000,
};

const MODELS = {
  generate: GENERATES,
  embed: { operations: ["embed"], context_window: 8_000, dimensions: [8], default_dimensions: 8 },
  rerank: { operations: ["rerank"], context_window: 4_000 },
  moderate: { operations: ["moderate"] },
  "moderate-other": { operations: ["moderate"], moderation_categories: CATEGORIES },
};

function provider(upstream: string, dialect: DialectName, timeouts: object): object {
  return {
    dialect,
    base_url: `${upstream}${DIALECTS[dialect].demandsOutputLimit ? "" : "/v1"}`,
    network: "private",
    region: "global",
    auth: "none",
    retention: "none",
    trains_on_data: false,
    timeouts,
  };
}

function endpoint(
  id: string,
  { surface, nature }: Column,
  dialect: DialectName,
  settings: readonly string[],
  servedBy = `${dialect}-patient`,
): object {
  const { operation } = surface;
  const all = [
    `simulated-${operation}`,
    ...(operation === "embed" ? ["dimensions=8"] : []),
    ...nature,
    ...settings,
  ];
  return {
    id,
    model: nature.length > 0 ? "moderate-other" : operation,
    provider: servedBy,
    upstream_model: all.join("+"),
    price: { input: 1, output: 1 },
  };
}
