import type { DialectName } from "../../src/dialects/table.ts";
import type { Column } from "./columns.ts";

/**
 * What a client must see. `whole`: the undamaged answer. `failed`: an error, or a stream that says
 * that it failed. `either`: the provider had said everything and not ended properly, so both are
 * true.
 */
export type Expected = "whole" | "failed" | "either";

/** One way in which a provider misbehaves, at one moment. */
export interface Fault {
  /** Such as `cut, before the headers`. */
  readonly name: string;
  /** Settings of the simulated provider (docs/mock.md). */
  readonly settings: readonly string[];
  /** What a route without a fallback gives. */
  readonly alone: Expected;
  /** What a route with a healthy fallback gives; `whole` means from whichever of the two. */
  readonly withFallback: Expected;
  /** Only a timeout shows that something is wrong, so the provider gets little of it. */
  readonly silent: boolean;
  /** A piece of the answer may come twice: readers cannot see that it was not meant. */
  readonly repeats: boolean;
  /** The answer was said, but not what it cost. */
  readonly losesUsage: boolean;
}

interface Streaming {
  /** Events before the first one that says something. */
  readonly prelude: number;
  /**
   * Whether anything comes after the event with the finish reason, and whether it must: `null`
   * where that event is the last.
   */
  readonly tail: "demanded" | "optional" | null;
}

/** How the streams of the simulated provider run. */
export const STREAMS: Readonly<Partial<Record<DialectName, Streaming>>> = {
  "openai-chat": { prelude: 1, tail: "optional" },
  "openai-completions": { prelude: 0, tail: "optional" },
  "openai-responses": { prelude: 4, tail: null },
  "anthropic-messages": { prelude: 3, tail: "demanded" },
  gemini: { prelude: 0, tail: null },
  "bedrock-converse": { prelude: 1, tail: "optional" },
  "cohere-chat": { prelude: 2, tail: "optional" },
};

/** A moment: a name for people, and the value of the simulated provider's setting. */
interface Moment {
  readonly name: string;
  readonly value: string;
  readonly when: "before" | "during" | "after last token" | "after terminal";
  /** Half an event: only a connection can break there. */
  readonly within?: true;
}

/** Long enough for what has been written to be sent before the fault comes. */
const PACE = "chunk-delay=25ms";

/** The moments of a stream, in their order. */
function streamMoments({ prelude, tail }: Streaming): readonly Moment[] {
  return [
    { name: "after the headers", value: "after-headers", when: "before" },
    ...(prelude === 0
      ? []
      : [{ name: "before the first output", value: `after-${prelude}`, when: "before" } as const]),
    { name: "within the first output", value: `in-${prelude + 1}`, when: "before", within: true },
    { name: "between two events", value: `after-${prelude + 3}`, when: "during" },
    { name: "within an event", value: `in-${prelude + 4}`, when: "during", within: true },
    { name: "before the finish reason", value: "before-finish", when: "during" },
    ...(tail === null
      ? []
      : [
          {
            name: "before the last event",
            value: "before-done",
            when: tail === "demanded" ? "during" : "after last token",
          } as const,
        ]),
    { name: "after the last event", value: "end", when: "after terminal" },
  ];
}

const WHOLE_MOMENTS: readonly Moment[] = [
  { name: "after the headers", value: "after-headers", when: "before" },
  { name: "within the answer", value: "in-1", when: "before", within: true },
];

const BEFORE_HEADERS: Moment = {
  name: "before the headers",
  value: "before-headers",
  when: "before",
  within: true,
};

/** Statuses of errors; all but the caller's own mistake may go better elsewhere. */
const STATUSES = [400, 401, 404, 408, 429, 500, 503, 529] as const;
const REDIRECTS = [302, 307] as const;

/** Every fault that the upstream of a column can have. */
export function faultsOf(column: Column): readonly Fault[] {
  const streaming = column.stream ? STREAMS[column.dialect] : undefined;
  return [
    ...STATUSES.map((status) =>
      fault(`status ${status}`, [`${status}`], "failed", status === 400 ? "failed" : "whole"),
    ),
    ...REDIRECTS.map((status) => fault(`redirect ${status}`, [`${status}`], "failed", "whole")),
    fault(
      "slow",
      column.stream ? ["delay=60ms", "first-byte=40ms", PACE] : ["delay=60ms", "first-byte=40ms"],
      "whole",
    ),
    fault("gzip", ["gzip"], "whole"),
    fault(
      "gzip, cut within the first output",
      ["gzip", `cut=in-${(streaming?.prelude ?? 0) + 1}`],
      "failed",
      "whole",
    ),
    ...(streaming === undefined ? wholeFaults(column) : streamFaults(column, streaming)),
  ];
}

function wholeFaults({ dialect, surface }: Column): readonly Fault[] {
  return [
    ...[BEFORE_HEADERS, ...WHOLE_MOMENTS].flatMap(brokenConnections),
    fault("cut, after the answer", ["cut=end"], "whole"),
    fault("close, after the answer", ["close=end"], "either", "whole"),
    fault("reset, after the answer", ["reset=end"], "either", "whole"),
    fault("stall, after the answer", ["stall=end"], "either", "whole", { silent: true }),
    fault("malformed, the answer", ["malformed"], "failed", "whole"),
    fault("error-frame, the answer", ["error-frame"], "failed", "whole"),
    ...(surface.operation === "generate" && SAYS_FAILED.has(dialect)
      ? // A failed Response is an answer, which goes to the caller; elsewhere it is a finish reason that says that there is none.
        [
          fault(
            "failed, the answer",
            ["failed"],
            "failed",
            dialect === "openai-responses" ? "failed" : "whole",
          ),
        ]
      : []),
  ];
}

/** Protocols that have a value for an answer that failed, besides an error. */
const SAYS_FAILED: ReadonlySet<DialectName> = new Set(["openai-responses", "cohere-chat"]);

function streamFaults({ dialect }: Column, streaming: Streaming): readonly Fault[] {
  const moments = streamMoments(streaming);
  const connection = [BEFORE_HEADERS, ...moments].flatMap(brokenConnections);
  const content = moments.filter(({ within }) => within !== true);
  const kinds = ["malformed", "error-frame", ...(SAYS_FAILED.has(dialect) ? ["failed"] : [])];
  return [
    ...connection,
    ...kinds.flatMap((kind) =>
      content
        .filter((moment) => isSayable(kind, moment, dialect))
        .map((moment) => at(kind, moment)),
    ),
    ...content
      .filter(({ value }) => value !== "after-headers")
      .map((moment) =>
        fault(`duplicate, ${moment.name}`, [`duplicate=${moment.value}`], "either", "either", {
          repeats: true,
        }),
      ),
  ];
}

/** A response cannot be said to have failed before it has begun, nor after it has ended. */
function isSayable(kind: string, { value }: Moment, dialect: DialectName): boolean {
  return (
    kind !== "failed" ||
    dialect !== "openai-responses" ||
    (value !== "after-headers" && value !== "end")
  );
}

function brokenConnections(moment: Moment): readonly Fault[] {
  return ["cut", "close", "reset", "stall"].map((kind) => at(kind, moment));
}

function at(kind: string, { name, value, when }: Moment): Fault {
  const settings = [`${kind}=${value}`, ...(when === "during" ? [PACE] : [])];
  const silent = kind === "stall";
  switch (when) {
    case "before":
      return fault(`${kind}, ${name}`, settings, "failed", "whole", { silent });
    case "during":
      // Nothing may have been sent where the disk was slow; then the fallback answers, and must
      // answer in full.
      return fault(`${kind}, ${name}`, settings, "failed", "either", { silent });
    case "after last token":
      return fault(`${kind}, ${name}`, settings, "either", "either", { silent, losesUsage: true });
    case "after terminal":
      return fault(`${kind}, ${name}`, settings, "whole", "whole", { silent });
  }
}

function fault(
  name: string,
  settings: readonly string[],
  alone: Expected,
  withFallback: Expected = alone,
  more: Partial<Pick<Fault, "silent" | "repeats" | "losesUsage">> = {},
): Fault {
  return {
    name,
    settings,
    alone,
    withFallback,
    silent: false,
    repeats: false,
    losesUsage: false,
    ...more,
  };
}
