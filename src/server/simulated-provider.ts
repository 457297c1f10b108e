import type * as Endpoints from "../../mock/endpoints.ts";
import type * as Server from "../../mock/server.ts";
import type * as Settings from "../../mock/settings.ts";

export type { MockServer } from "../../mock/server.ts";

/** The part of the package `mock/` that the program uses. */
export interface SimulatedProvider {
  readonly startMock: typeof Server.startMock;
  readonly endpoints: typeof Endpoints.MOCK_ENDPOINTS;
  readonly vocabulary: typeof Settings.VOCABULARY;
}

/**
 * Loads the simulated provider. No other file of `src` imports it, and a server that simulates no
 * provider does not load it. The address is computed because the folder is beside `src` in a
 * checkout and inside `dist` in the published package.
 */
export async function loadSimulatedProvider(): Promise<SimulatedProvider> {
  const server: typeof Server = await import(addressOf("server"));
  const endpoints: typeof Endpoints = await import(addressOf("endpoints"));
  const vocabulary: typeof Settings = await import(addressOf("settings"));
  return {
    startMock: server.startMock,
    endpoints: endpoints.MOCK_ENDPOINTS,
    vocabulary: vocabulary.VOCABULARY,
  };
}

function addressOf(module: string): string {
  const path = import.meta.url.endsWith(".ts") ? `../../mock/${module}.ts` : `../mock/${module}.js`;
  return new URL(path, import.meta.url).href;
}

/** The simulated upstream, started when it is first needed. */
export function lazyMock(): {
  readonly origin: () => Promise<string>;
  readonly close: () => Promise<void>;
} {
  let started: Promise<Server.MockServer> | null = null;
  return {
    origin: async () => {
      started ??= loadSimulatedProvider().then(({ startMock }) =>
        startMock({ host: "127.0.0.1", port: 0 }),
      );
      return (await started).url;
    },
    close: async () => {
      if (started !== null) await (await started).close();
    },
  };
}
