import { textOf } from "../json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { BlockSequencer } from "../answer-events.ts";

interface Call {
  readonly key: string;
  /** As the provider gave it; the empty string where it gave none. */
  readonly id: string;
  name: string;
  /** Arguments that came before the name. */
  early: string;
}

/**
 * Puts the fragments of tool calls together by index, as the protocol defines; by id, where a provider leaves the index out or gives every call the same; or
 * by their order alone (docs/protocols.md#chat-streams-of-providers).
 */
export class ToolFragments {
  readonly #sequencer: BlockSequencer;
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  #last: Call | null = null;
  #count = 0;
  /** Id of the answer, to make ids of: a call that the provider did not name still needs one that no other answer's call has. */
  #answerId = "";

  constructor(sequencer: BlockSequencer) {
    this.#sequencer = sequencer;
  }

  /** Whether a call has come whose function has no name: it cannot be carried out. */
  get isIncomplete(): boolean {
    return [...this.#byIndex.values(), ...this.#byId.values(), this.#last].some((call) => call?.name === "");
  }

  /** Whether any call has come. */
  get isEmpty(): boolean {
    return this.#count === 0;
  }

  set answerId(id: string) {
    this.#answerId = id.replaceAll(/[^\w-]/g, "").slice(0, MAXIMUM_ID);
  }

  /**
   * Takes one fragment.
   *
   * @param position stands for the index in whole answers, where the order of the list numbers the calls; `null` in streams.
   * @returns `false` where the fragment is of another kind than a function call.
   */
  add(fragment: JsonValue, position: number | null): boolean {
    if (!isJsonObject(fragment)) return false;
    const called = fragment["function"];
    if (!isJsonObject(called)) return false;
    const { index } = fragment;
    const name = textOf(called["name"]);
    const call = this.#callOf(position ?? (typeof index === "number" ? index : null), textOf(fragment["id"]), name);
    this.#extend(call, name, argumentsOf(called));
    return true;
  }

  /** Takes a fragment of the one call that the protocol's older form has. It has no id. */
  addLegacy(called: JsonObject): void {
    const name = textOf(called["name"]);
    const json = argumentsOf(called);
    // Some providers print every member that a message could have.
    if (name === "" && json === "") return;
    this.#extend(this.#callOf(LEGACY, "", name), name, json);
  }

  #callOf(index: number | null, id: string, name: string): Call {
    if (index === null) {
      const known = id === "" ? this.#last : this.#byId.get(id);
      return this.#remember(known ?? this.#begin(id), index);
    }
    const known = this.#byIndex.get(index);
    // One number for all calls: another name and id begin another call.
    const isOther = known !== undefined && id !== "" && name !== "" && known.id !== "" && known.id !== id;
    return this.#remember(known === undefined || isOther ? this.#begin(id) : known, index);
  }

  #begin(id: string): Call {
    const key = String(this.#count);
    this.#count += 1;
    return { key, id, name: "", early: "" };
  }

  #remember(call: Call, index: number | null): Call {
    if (index !== null) this.#byIndex.set(index, call);
    if (call.id !== "") this.#byId.set(call.id, call);
    this.#last = call;
    return call;
  }

  #extend(call: Call, name: string, json: string): void {
    if (call.name === "" && name === "") {
      call.early += json;
      return;
    }
    if (call.name === "") {
      call.name = name;
      const id = call.id === "" ? `call_${this.#answerId}_${call.key}` : call.id;
      this.#sequencer.openTool(call.key, id, name);
      this.#sequencer.arguments(call.key, call.early);
    }
    this.#sequencer.arguments(call.key, json);
  }
}

/** Index of the older form's one call; no list has it. */
const LEGACY = -1;

/** Ids of calls have at most 64 characters at the strictest providers; this leaves room for what stands around. */
const MAXIMUM_ID = 40;

/** Some providers send the object where the protocol has its text. */
function argumentsOf(called: JsonObject): string {
  const value = called["arguments"];
  return isJsonObject(value) ? JSON.stringify(value) : textOf(value);
}
