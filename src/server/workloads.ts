import { jsonFetcher } from "../dispatch/fetch-json.ts";
import type { Workloads } from "../http/runtime.ts";
import type { WorkloadTokens } from "../keys/workload-tokens.ts";
import type { ServerLog } from "./telemetry/server-log.ts";

/** Judges JWTs of workloads; loaded with the first of them, because most configurations have no rules. */
export function openWorkloads(log: ServerLog): Workloads {
  let loaded: Promise<WorkloadTokens> | null = null;
  const load = async (): Promise<WorkloadTokens> => {
    const { WorkloadTokens: Tokens } = await import("../keys/workload-tokens.ts");
    return new Tokens(jsonFetcher(), Date.now, () => performance.now(), log.issuerKeysFailed);
  };
  return { admit: async (jwt, rules) => (await (loaded ??= load())).admit(jwt, rules) };
}
