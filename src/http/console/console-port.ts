import type { OidcSettings } from "../../canon/table.ts";
import type {
  Identity,
  Person,
  SessionHolder,
  SessionTimes,
  SignInCheck,
  SignInFault,
} from "../../canon/identity.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import type { Bundle } from "./bundle.ts";

/** A provider of OpenID Connect as http needs it; `keys/oidc-client.ts`. */
export interface OidcClient {
  /** Where to send the browser. @param redirectUri where it returns to. */
  readonly begin: (
    redirectUri: string,
  ) => Promise<{ readonly url: string; readonly check: SignInCheck } | SignInFault>;
  /** Who has signed in. @param returned the address with the query that the provider added. */
  readonly finish: (returned: URL, check: SignInCheck) => Promise<Person | SignInFault>;
}

/** A session that is good. Times are milliseconds since the epoch. */
export interface Session {
  readonly holder: SessionHolder;
  readonly seenAt: number;
  /** When it ends however much it is used. */
  readonly endsAt: number;
}

/**
 * Sessions as http needs them; `keys/sessions.ts`. Each throws `StoreUnavailableError` while the
 * store is unavailable.
 */
interface Sessions {
  /** @param now milliseconds since the epoch. @param latest when it ends at the latest. */
  readonly start: (
    holder: SessionHolder,
    now: number,
    times: SessionTimes,
    latest?: number,
  ) => Promise<{ readonly value: string; readonly record: Session }>;
  /** @param address of the caller. */
  readonly find: (
    value: string,
    now: number,
    times: Pick<SessionTimes, "idle">,
    address: string,
  ) => Promise<Session | null>;
  readonly endSession: (value: string) => Promise<void>;
}

/** The console of a process: its page, and who is signed in. */
export interface Console {
  /** Which listener serves it. */
  readonly listener: Endpoint["listener"];
  /**
   * Browsers reach that listener over TLS, ours or that of a proxy in front, by the
   * options; the configuration's `url` takes precedence.
   */
  readonly isSecure: boolean;
  /** Where clients send requests, where that is not the console's own origin; `null`: it is. */
  readonly inference: { readonly port: number; readonly tls: boolean } | null;
  /** The page and its parts; `null` where they have not been built. */
  readonly bundle: () => Promise<Bundle | null>;
  readonly sessions: Sessions;
  /** Whose key that is, as long as it is good. @param now milliseconds since the epoch. */
  readonly holderOf: (keyId: string, now: number) => Promise<Identity | null>;
  /**
   * The key that a one-time code of this process stands for; `null` for one that is unknown, used
   * or too old.
   */
  readonly takeCode: (code: string, now: number) => string | null;
  /**
   * Signs a sign-in that a browser carries away. @param lifetime seconds. Throws
   * `StoreUnavailableError`.
   */
  readonly sealSignIn: (check: SignInCheck, lifetime: number) => Promise<string>;
  /** `null` where this installation did not seal it, or its time is over. */
  readonly openSignIn: (sealed: string) => Promise<SignInCheck | null>;
  /** Sign-in at a provider of OpenID Connect. */
  readonly oidcClient: (settings: OidcSettings) => Promise<OidcClient>;
}
