import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Diagnostic } from "../../canon/diagnostic.ts";
import { compileConfiguration } from "../../compile/compile.ts";
import { loadConfiguration } from "../../compile/load.ts";
import { resolveSecrets, type MissingSecret } from "../../compile/secrets.ts";
import { createDecider } from "../../decide/decider.ts";
import type { Access, ConnectionPools } from "../../dispatch/connections.ts";
import { createAuthorize } from "../../dispatch/credentials/authorize.ts";
import type { Snapshot } from "../../http/runtime.ts";
import { initialMode } from "../../policy/initial-mode.ts";
import { policyData } from "../../policy/policy-data.ts";
import { createPolicySet } from "../../policy/policy-set.ts";
import type { Store } from "../../store/port.ts";

/** What a snapshot is made with, besides the files. */
export interface SnapshotSupply {
  /** Path of routes.yaml. */
  readonly config: string;
  readonly cacheDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly store: Store;
  readonly pools: ConnectionPools;
  /** Scheme and host of the simulated upstream; started when the first provider needs it. */
  readonly simulatedOrigin: () => Promise<string>;
}

export type BuiltSnapshot =
  | {
      readonly ok: true;
      readonly snapshot: Snapshot;
      readonly diagnostics: readonly Diagnostic[];
      /** Providers that the simulated upstream answers for, with the secret that would make them real. */
      readonly simulated: readonly MissingSecret[];
      /** Providers left out for want of their secret. */
      readonly disabled: readonly MissingSecret[];
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Files → table and policies → decider and connections. Everything new stands beside the old until the caller swaps. */
export async function buildSnapshot(supply: SnapshotSupply): Promise<BuiltSnapshot> {
  const loaded = await loadConfiguration(supply.config);
  const compiled = await compileConfiguration(loaded, { cacheDirectory: supply.cacheDirectory });
  const { table, policies } = compiled;
  if (table === null || policies === null) return { ok: false, diagnostics: compiled.diagnostics };
  const folder = dirname(resolve(supply.config));
  const secrets = resolveSecrets(table, supply.environment, (path) => readFileSync(resolve(folder, path), "utf8"));
  const unusable = [
    ...secrets.missing
      .filter(({ onMissing }) => onMissing === "fail")
      .map((one) => secretDiagnostic(supply, one, "SECRET_NOT_SET", "is not set", SET_IT)),
    ...secrets.refused.map((one) => secretDiagnostic(supply, one, "SECRET_UNUSABLE", UNUSABLE, CLEAN_IT)),
  ];
  if (unusable.length > 0) return { ok: false, diagnostics: [...compiled.diagnostics, ...unusable] };
  const states = await supply.store.policies.observe(
    policies.policies.map(({ contract, digest }) => ({
      id: contract.id,
      digest,
      initialMode: initialMode(table, contract.id),
    })),
  );
  const policySet = await createPolicySet(policies, states, policyData(table));
  const simulated = secrets.missing.filter(({ onMissing }) => onMissing === "simulate");
  const origin = simulated.length > 0 ? await supply.simulatedOrigin() : null;
  const simulatedIds = new Set(simulated.map(({ provider }) => provider));
  const missingIds = new Set(secrets.missing.map(({ provider }) => provider));
  const { connections, release } = supply.pools.acquire(table, (provider): Access | null => {
    if (simulatedIds.has(provider.id)) return { secret: null, simulatedOrigin: origin };
    if (missingIds.has(provider.id)) return null;
    return {
      secret: secrets.secrets.get(provider.id) ?? null,
      simulatedOrigin: null,
      makeAuthorize: () => createAuthorize(provider, { environment: supply.environment, folder, now: Date.now }),
    };
  });
  return {
    ok: true,
    snapshot: { decider: createDecider(table, policySet, Date.now), connections, release },
    diagnostics: compiled.diagnostics,
    simulated,
    disabled: secrets.missing.filter(({ onMissing }) => onMissing === "disable"),
  };
}

type SecretPlace = Pick<MissingSecret, "provider" | "reference">;

const SET_IT =
  "set it, or say on_missing_secret: disable (leave the provider out) or simulate (the simulated upstream answers)";
const UNUSABLE = "holds characters that an HTTP header cannot carry";
const CLEAN_IT = "look for line breaks or quotation marks around the secret";

function secretDiagnostic(
  supply: SnapshotSupply,
  place: SecretPlace,
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
    message: `providers.${place.provider}.auth: its secret (${describeReference(place)}) ${what}`,
    hint,
  };
}

/** Where a secret is looked for; never what was found. */
export function describeReference({ reference }: SecretPlace): string {
  return "env" in reference ? `environment variable ${reference.env}` : `file ${reference.file}`;
}
