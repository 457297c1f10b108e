import type { ConfigurationFiles } from "../../compile/load.ts";
import type { EndpointsHealth } from "../../http/control/endpoints-health.ts";
import type { ReadFamily } from "../../telemetry/families.ts";
import type { Door } from "../../store/sqlite/shared/frames.ts";
import type { ServeOptions } from "../running-server.ts";

/** The status of a server's workers. */
export interface WorkersStatus {
  /** Configured number. */
  readonly configured: number;
  /** Number that takes requests. */
  readonly ready: number;
}

/** Messages of the first process to a worker. */
export type ToWorkerProcess =
  | {
      readonly type: "start";
      /** Its number, from 1; a worker that replaces a dead one has that one's. */
      readonly worker: number;
      readonly options: ServeOptions;
      /** Name of the build in /status. */
      readonly build: string;
      /** The package's version. */
      readonly version: string;
      readonly files: ConfigurationFiles;
      /** Where the store's thread is reached; `null` where the worker opens the store itself. */
      readonly door: Door | null;
    }
  | { readonly type: "reload"; readonly round: number; readonly files: ConfigurationFiles }
  | {
      readonly type: "status";
      readonly status: WorkersStatus;
      /** The newest files could not be taken. */
      readonly reloadFailed: boolean;
    }
  | { readonly type: "metrics" | "health"; readonly round: number }
  /** Whether it turns its event loop: `alive` is the answer. */
  | { readonly type: "ask_alive" }
  | { readonly type: "retire" }
  | { readonly type: "stop" }
  /** The store's thread was started again. */
  | { readonly type: "door"; readonly door: Door };

/** Messages of a worker to the first process. */
export type FromWorkerProcess =
  /** It listens to messages. */
  | { readonly type: "hello" }
  | { readonly type: "ready"; readonly url: string }
  /** It cannot start. `message` is for operators; `null` where there is none. */
  | { readonly type: "failed"; readonly message: string | null }
  | { readonly type: "reloaded"; readonly round: number; readonly ok: boolean }
  | { readonly type: "alive" }
  | { readonly type: "metrics"; readonly round: number; readonly families: readonly ReadFamily[] }
  | { readonly type: "health"; readonly round: number; readonly endpoints: EndpointsHealth };
