import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Diagnostic, Source } from "../canon/diagnostic.ts";
import type { ProviderRow, RoutingTable } from "../canon/table.ts";
import type { compileConfiguration } from "../compile/compile.ts";
import {
  assertionsPath,
  loadAssertions,
  loadConfiguration,
  type ConfigurationFiles,
} from "../compile/load.ts";
import { resolveSecrets, type MissingSecret } from "../compile/secrets.ts";
import { createDecider } from "../decide/decider.ts";
import type { PolicySet } from "../canon/policy.ts";
import type { Access, ConnectionPools } from "../dispatch/connections.ts";
import type { FindProxy } from "../dispatch/egress-proxy.ts";
import { createAuthorize } from "../dispatch/credentials/authorize.ts";
import type { Snapshot } from "../http/snapshot.ts";
import type { CompiledPolicies } from "../policy/compile-policies.ts";
import type { CompileCache } from "../policy/toolchain/compile-cache.ts";
import { LoadedModules } from "../policy/loaded-modules.ts";
import { policyData } from "../policy/input-schema.ts";
import type { PolicyDrift } from "./policies/slots.ts";

/** Inputs of a snapshot besides the files and the policy log. */
export interface SnapshotSupply {
  /** Path of routes.yaml. */
  readonly config: string;
  /** The environment whose overlay is merged over it; none unless set. */
  readonly overlay?: string | null;
  /** Reads the files otherwise than from `config`. */
  readonly load?: (() => Promise<ConfigurationFiles>) | undefined;
  readonly cache: CompileCache | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pools: ConnectionPools;
  /** Forward proxies of calls to token services; absent: none. */
  readonly findProxy?: FindProxy | null;
  /** Scheme and host of the simulated upstream; started when the first provider needs it. */
  readonly simulatedOrigin: () => Promise<string>;
}

/**
 * Result of one reading of the files. The slots are not part of it: they are in the log, and may
 * change while the files stay.
 */
export interface Ground {
  readonly table: RoutingTable;
  readonly compiled: CompiledPolicies;
  /**
   * The files' contents, ready for evaluation, with the table's data; sets of this table share
   * them.
   */
  readonly modules: LoadedModules;
  /** How each provider is reached; secrets as they were when the files were read. */
  readonly access: (provider: ProviderRow) => Access | null;
  readonly diagnostics: readonly Diagnostic[];
  /**
   * Providers that the simulated upstream answers for, with the secret that would make them real.
   */
  readonly simulated: readonly MissingSecret[];
  /** Providers left out for want of their secret. */
  readonly disabled: readonly MissingSecret[];
  /**
   * The assertions beside the policies, by a path that is the same on every machine; `null` where
   * there are none.
   */
  readonly assertions: Source | "unreadable" | null;
}

export type BuiltSnapshot =
  | ({
      readonly ok: true;
      readonly snapshot: Snapshot;
      /** Where the files and the slots differ. */
      readonly drifts: readonly PolicyDrift[];
    } & Pick<Ground, "diagnostics" | "simulated" | "disabled">)
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/**
 * Files → table, compiled policies and ways to providers, or everything that is wrong with them.
 *
 * @param compile where it is done: on this thread before a server answers, on another one while it
 * does.
 */
export async function readGround(
  supply: SnapshotSupply,
  compile: typeof compileConfiguration,
): Promise<
  | { readonly ok: true; readonly ground: Ground }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }
> {
  const { config, overlay = null } = supply;
  const loaded = await (supply.load ?? (() => loadConfiguration(config, config, overlay)))();
  const { table, policies, diagnostics } = await compile(loaded, { cache: supply.cache });
  if (table === null || policies === null) return { ok: false, diagnostics };
  const folder = dirname(resolve(supply.config));
  const secrets = resolveSecrets(table, supply.environment, (path) =>
    readSecretFile(resolve(folder, path)),
  );
  const unusable = [
    ...secrets.missing
      .filter(({ onMissing }) => onMissing === "fail")
      .map((one) => secretDiagnostic(supply, one, "SECRET_NOT_SET", "is not set", SET_IT)),
    ...secrets.invalid.map((one) =>
      secretDiagnostic(supply, one, "SECRET_UNUSABLE", UNUSABLE, CLEAN_IT),
    ),
  ];
  if (unusable.length > 0) return { ok: false, diagnostics: [...diagnostics, ...unusable] };
  const simulated = secrets.missing.filter(({ onMissing }) => onMissing === "simulate");
  const origin = simulated.length > 0 ? await supply.simulatedOrigin() : null;
  const simulatedIds = new Set(simulated.map(({ provider }) => provider));
  const missingIds = new Set(secrets.missing.map(({ provider }) => provider));
  const surroundings = { environment: supply.environment, findProxy: supply.findProxy };
  const access = (provider: ProviderRow): Access | null => {
    if (simulatedIds.has(provider.id)) return { secret: null, simulatedOrigin: origin };
    if (missingIds.has(provider.id)) return null;
    return {
      secret: secrets.secrets.get(provider.id) ?? null,
      simulatedOrigin: null,
      makeAuthorize: () => createAuthorize(provider, { ...surroundings, folder, now: Date.now }),
    };
  };
  const modules = await LoadedModules.load(policies.modules, policyData(table));
  const disabled = secrets.missing.filter(({ onMissing }) => onMissing === "disable");
  const assertions = await readAssertions(loaded, config);
  return {
    ok: true,
    ground: {
      table,
      compiled: policies,
      modules,
      access,
      diagnostics,
      simulated,
      disabled,
      assertions,
    },
  };
}

/** A server starts without them and with wrong ones: only simulations of promotions need them. */
async function readAssertions(
  { routes }: ConfigurationFiles,
  config: string,
): Promise<Ground["assertions"]> {
  const { source, unreadable } = await loadAssertions(routes, config);
  if (unreadable.length > 0) return "unreadable";
  return source === null
    ? null
    : { path: assertionsPath({ path: "routes.yaml", text: routes.text }), text: source.text };
}

/**
 * Table and set → decider and connections. The new snapshot exists beside the old until the caller
 * swaps; connections in use are shared.
 */
export function snapshotOf(
  { table, access }: Ground,
  policies: PolicySet,
  pools: ConnectionPools,
): Snapshot {
  const { connections, releaseConnections: release } = pools.acquire(table, access);
  return {
    decider: createDecider(table, policies, Date.now),
    connections,
    releaseConnections: release,
  };
}

/**
 * Bytes of the largest file that a secret is read from; profiles of clouds are in such files too.
 */
const LARGEST_SECRET_FILE = 1024 * 1024;

/**
 * Follows links, as mounted secrets have them. @throws {Error} for a file that is not regular, or
 * too large: reading a device or a FIFO may never end.
 */
function readSecretFile(path: string): string {
  const found = statSync(path);
  if (!found.isFile() || found.size > LARGEST_SECRET_FILE)
    throw new Error("secret: not a regular file, or too large");
  return readFileSync(path, "utf8");
}

type SecretReference = Pick<MissingSecret, "provider" | "reference">;

const SET_IT =
  "set it, or write on_missing_secret: disable (leave the provider out) or simulate (the simulated upstream answers)";
const UNUSABLE = "has characters that an HTTP header cannot carry";
const CLEAN_IT = "look for line breaks or quotation marks around the secret";

function secretDiagnostic(
  supply: SnapshotSupply,
  reference: SecretReference,
  code: string,
  what: string,
  hint: string,
): Diagnostic {
  return {
    code,
    severity: "error",
    file: supply.config,
    line: 1,
    column: 1,
    message: `providers.${reference.provider}.auth: its secret (${describeReference(reference)}) ${what}`,
    hint,
  };
}

/** Where a secret is looked for; never its value. */
export function describeReference({ reference }: SecretReference): string {
  return "env" in reference ? `environment variable ${reference.env}` : `file ${reference.file}`;
}
