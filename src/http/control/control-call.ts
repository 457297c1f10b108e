import type { IncomingHttpHeaders } from "node:http";
import type { Identity } from "../../canon/identity.ts";
import type { JsonValue } from "../../canon/json.ts";
import type { ValueOf } from "../../canon/json/schema.ts";
import type { ChangeRecord } from "../../evidence/record.ts";
import type { SimulatedOperation } from "./simulate.ts";
import type { Body } from "../read-body.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Runtime } from "../runtime.ts";

/** Input of a control endpoint's handler. */
export interface ControlCall {
  readonly runtime: Runtime;
  readonly snapshot: Snapshot;
  readonly identity: Identity | null;
  /**
   * Workspaces that the caller may read with the endpoint's scope: the key's own, or all that a
   * session has; empty without an identity.
   */
  readonly covered: readonly string[];
  /** Those of them whose keys the caller may list. */
  readonly managed: readonly string[];
  readonly body: Body | null;
  readonly url: URL;
  /** The path's value for the first `{name}`; empty where it has none or it cannot be decoded. */
  readonly parameter: string;
  /** All of them in their order. */
  readonly parameters: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
  readonly operations: ReadonlyMap<string, SimulatedOperation>;
  /**
   * Records on disk the caller and the change before it is made. Without it the call is recorded
   * when it has been answered.
   *
   * @throws {RefusalError} where it cannot be recorded; nothing may be changed then.
   */
  readonly recordChange: (change: ChangeRecord) => Promise<void>;
}

/**
 * A JSON value to answer, with headers by name and value in turns; or text, JSON unless another
 * type is given.
 */
export type ControlAnswer =
  | { readonly json: JsonValue; readonly headers?: readonly string[] }
  | { readonly text: string; readonly contentType?: string };

/** @throws {RefusalError} with the error to answer. */
export type ControlHandler = (call: ControlCall) => ControlAnswer | Promise<ControlAnswer>;

/**
 * The body, which was checked against the schema of the endpoint's row; of one that may be left out
 * and was: `{}`.
 */
export function bodyOf<Schema>({ body }: Pick<ControlCall, "body">): ValueOf<Schema> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the endpoint's row has this schema
  return (body?.value ?? {}) as ValueOf<Schema>;
}
