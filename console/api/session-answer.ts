/**
 * Answer of `/console/session`. It is the page's own and no part of the contract, so that there
 * is no schema to derive it from.
 */

export interface SignedOut {
  readonly signed_in: false;
  readonly sign_in?: {
    readonly key: boolean;
    readonly oidc: { readonly name: string; readonly url: string } | null;
  };
}

export interface SignedIn {
  readonly signed_in: true;
  readonly person: {
    readonly subject: string;
    readonly issuer: string | null;
    readonly name: string | null;
    readonly key: string | null;
  };
  readonly workspace: string;
  readonly workspaces: readonly string[];
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /**
   * The workspace as which policies are read and changed; `null`: none of the session's workspaces
   * manages them.
   */
  readonly policies: { readonly workspace: string; readonly scopes: readonly string[] } | null;
  /** Origin of this host to which clients send requests; `null`: that of this page. */
  readonly inference: { readonly port: number; readonly tls: boolean } | null;
  readonly csrf: string;
  readonly ends_at: string;
  readonly idle_ends_at: string;
  readonly build_id: string;
}

export type Session = SignedIn | SignedOut;
