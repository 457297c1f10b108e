import { isJsonObject, type JsonObject } from "../../../src/canon/json.ts";

/**
 * What a client of one protocol makes of an answer's body, by the protocol's own grammar and
 * nothing else.
 */
export interface Seen {
  /** `whole`: the protocol's success was said. `failed`: its failure was said. */
  readonly end: "whole" | "failed";
  readonly text: string;
  /** Why the answer ended, as the protocol spells it; compared, not read. */
  readonly finish: string;
  /** What it cost; the same. */
  readonly usage: string;
  /** Ways in which the body is not what the grammar says. */
  readonly problems: readonly string[];
}

export type Reader = (body: string) => Seen;

export interface ReadEvent {
  readonly name: string | null;
  /** `[DONE]` or JSON. */
  readonly data: string;
}

/**
 * The events of a whole stream that have data; comments are passed over, bytes after the last blank
 * line are a problem.
 */
export function eventsOf(body: string, problems: string[]): readonly ReadEvent[] {
  const pieces = body.split(/\r?\n\r?\n/);
  if (pieces.pop() !== "") problems.push("the stream ends in the middle of an event");
  return pieces.flatMap((piece) => {
    const lines = piece.split(/\r?\n/).filter((line) => !line.startsWith(":"));
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}:`));
    const data = field("data");
    if (data === undefined) return [];
    return [
      {
        name: field("event")?.slice("event:".length).trim() ?? null,
        data: data.slice("data:".length).trim(),
      },
    ];
  });
}

/** An object of the body; an empty one, and a problem, where it is none. */
export function objectOf(text: string, problems: string[]): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Reported below.
  }
  problems.push("something that the client must parse is not a JSON object");
  return {};
}

/** The objects in a list, whatever other values it has. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];
}

export function member(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}

/** A value for comparison. */
export function printed(value: unknown): string {
  return JSON.stringify(value) ?? "";
}

export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Says which terminals came, where it was not exactly one. */
export function checkTerminals(terminals: readonly string[], problems: string[]): void {
  if (terminals.length !== 1)
    problems.push(`${terminals.length} terminals: ${terminals.join(", ")}`);
}
