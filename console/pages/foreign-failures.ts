/** Kinds of failed calls that are the caller's or the router's, and no fault of an endpoint. */
export const FOREIGN_FAILURES: ReadonlySet<string> = new Set([
  "timeout_total",
  "rejected",
  "too_large",
  "credentials_missing",
  "saturated",
  "client_closed",
  "abandoned",
  "server_stopping",
  "key_revoked",
]);
