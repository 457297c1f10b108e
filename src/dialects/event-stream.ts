import { complete } from "../canon/json/schema.ts";
import type { JsonObject } from "../canon/json.ts";
import { textOf } from "./json.ts";

/** An answer as a stream of server-sent events. */
export interface EventStream {
  /**
   * JSON Schema of the data of each event, the last one's and our error's included; `[DONE]` is no
   * JSON and has none.
   */
  readonly events: JsonObject;
  /** Whether events have names (`event:`); each is the `type` of its data. */
  readonly isNamed: boolean;
  /** Whether the last event is `[DONE]`. */
  readonly hasDone: boolean;
  /** What says that the answer is whole, for readers. */
  readonly ends: string;
}

/** What an event of one type has; `type` is added. */
export interface EventFacts {
  /** Name of its component. */
  readonly title: string;
  readonly description: string;
  /** All of them are required. */
  readonly members: Readonly<Record<string, JsonObject>>;
}

/** The schema of one type of event. */
export function eventSchema(type: string, { title, description, members }: EventFacts): JsonObject {
  return {
    title,
    description,
    type: "object",
    required: ["type", ...Object.keys(members)],
    properties: { type: { const: type }, ...members },
  };
}

/**
 * The schema of all events of a protocol that distinguishes them by `type`: one component for each
 * type, and one for every other type, because a provider of the same protocol may have types of its
 * own, and the router relays them unchanged.
 *
 * @param name of the component, such as `ResponseEvent`.
 * @param byType each with a title, which is the name of its component.
 */
export function eventUnion(name: string, byType: Readonly<Record<string, JsonObject>>): JsonObject {
  const types = Object.keys(byType);
  const mapping = Object.fromEntries(
    Object.entries(byType).map(([type, event]) => [type, `#/components/schemas/${titleOf(event)}`]),
  );
  return {
    title: name,
    description: "Data of an event. `type` is also the name of the event.",
    anyOf: [
      {
        title: `Known${name}`,
        oneOf: Object.values(byType),
        discriminator: { propertyName: "type", mapping },
      },
      {
        title: `Other${name}`,
        ...complete(
          { type: { type: "string", not: { enum: types } } },
          "A type of a provider's own, relayed unchanged.",
        ),
      },
    ],
  };
}

/** Name of the component of a schema. */
export function titleOf({ title }: JsonObject): string {
  return textOf(title);
}
