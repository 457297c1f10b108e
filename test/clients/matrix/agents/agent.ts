import type { Protocol } from "../scripted/turns.ts";

/** Where an agent connects, and where it runs. */
export interface AgentPaths {
  /** Root of the router, without a path. */
  readonly url: string;
  readonly key: string;
  /** Name of the route. */
  readonly model: string;
  /** Home of the agent: empty but for `files`. */
  readonly home: string;
}

/** One coding agent: a new one, or a new way to set one up, is one row of `agents.ts`. */
export interface Agent {
  readonly name: string;
  /** Program in the folder `SIGNALBOX_AGENTS`, or on the `PATH`. */
  readonly program: string;
  /** Protocol that the agent speaks to a route of this name. */
  readonly surface: Protocol;
  /**
   * Name of the route: a vendor's model, because agents take windows, prices and abilities from
   * such names.
   */
  readonly model: string;
  /** Name of a route over another protocol, where it must not be the vendor's. */
  readonly translated?: string;
  /** Tools are not used: what the agent does stands in the text. */
  readonly toolless?: true;
  readonly arguments: (prompt: string, paths: AgentPaths) => readonly string[];
  readonly environment: (paths: AgentPaths) => Readonly<Record<string, string>>;
  /** Files of its settings: path below `home`, and content. */
  readonly files?: (paths: AgentPaths) => Readonly<Record<string, string>>;
  readonly expected: Expected;
}

/** What is known of the agent's version in `docs/coding-agents.md`, where agents differ. */
export interface Expected {
  /** Most requests that a policy's denial, or a spent budget, costs. */
  readonly refused: number;
  /** A stream that is cut once is repeated, and the user sees the whole answer. */
  readonly survivesCut: boolean;
  /** The user of a cut stream sees the beginning and no error. */
  readonly silentCut?: true;
  /** A conversation that is too long is shortened, and the work goes on. */
  readonly survivesOverflow: boolean;
}
