import type { ProviderRow } from "../../canon/table.ts";
import { awsKeysFrom, createAwsSigner } from "./aws-signer.ts";
import { googleHeadersFrom } from "./google-headers.ts";
import { Renewed } from "./renewed.ts";
import type { FindProxy } from "../egress-proxy.ts";
import type { Authorize } from "../connections.ts";

/** Inputs of a credential's look-up. */
interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder that paths of routes.yaml start from. */
  readonly folder: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * Forward proxies of calls to token services; absent: none. Metadata services of machines and
   * containers are called directly.
   */
  readonly findProxy?: FindProxy | null | undefined;
}

/**
 * The way to credentials that are made for each call; `null` for a provider whose headers never
 * change. No request is made before the first call.
 */
export function createAuthorize(
  provider: ProviderRow,
  surroundings: Surroundings,
): Authorize | null {
  const { auth, timeouts, baseUrl } = provider;
  const { environment, folder, now, findProxy } = surroundings;
  // Credentials are part of reaching the provider, and must not cost a call more than that may.
  const patience = timeouts.connect;
  switch (auth.kind) {
    case "none":
    case "header":
      return null;
    case "aws_sigv4": {
      const keys = new Renewed({
        fetch: awsKeysFrom(auth, environment, patience, findProxy),
        patience,
        now,
      });
      return createAwsSigner({
        service: auth.service,
        region: auth.region,
        host: new URL(baseUrl).host,
        keys,
        now,
      });
    }
    case "google_oauth": {
      const headers = new Renewed({
        fetch: googleHeadersFrom(auth, environment, folder),
        patience,
        now,
      });
      return () => headers.get();
    }
  }
}
