import type { JsonObject } from "../../../canon/json.ts";

/** What a reader can send to an endpoint, and what comes of it. Tests send every request to a server and hold its answers against the contract. */
export interface EndpointExample {
  /** Values of `{name}` in the path, and of query parameters, by name. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Bodies by name, in the order to try them. */
  readonly requests?: Readonly<Record<string, JsonObject>>;
  /** The entity tag to send as If-Match. */
  readonly ifMatch?: string;
  /** A 200 body; text where the endpoint answers text. */
  readonly answer?: JsonObject | string;
  /** A stream as it arrives. */
  readonly stream?: string;
}

/** The digest of a policy's content in examples; tests replace it by that of a real content. */
export const EXAMPLE_DIGEST = "7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a";

/** The public id of a key in examples, likewise. */
export const EXAMPLE_KEY = "4fzkq8wpc2rt";

/** The id of a request in examples, likewise. */
export const EXAMPLE_DECISION = "req_0199d2a4f1c04b6a8f0e2d7c915b3a64";

/** The name of a policy in examples, likewise. */
export const EXAMPLE_POLICY = "tool-approval";

export const EXAMPLE_ETAG = '"4a7c1f02b9d35e68"';

/** Stands for a time in the future; a request that is sent has another one. */
export const EXAMPLE_EXPIRY = "2027-06-30T00:00:00Z";
