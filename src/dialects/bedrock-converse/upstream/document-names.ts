import type { DroppedField } from "../../../canon/generate/dropped-field.ts";

/** What to call a document that came without a name, or whose name has no character that the protocol takes. */
const UNNAMED = "document";

/** Characters; the protocol's limit. */
const MAXIMUM_LENGTH = 200;

/**
 * Names of the documents of one request. The protocol takes letters, digits, single spaces, hyphens, parentheses and square brackets, and models refuse
 * two documents of one name.
 */
export class DocumentNames {
  readonly #used = new Set<string>();
  readonly #dropped: Set<DroppedField>;

  constructor(dropped: Set<DroppedField>) {
    this.#dropped = dropped;
  }

  of(name: string | null): string {
    const sent = this.#free(name === null ? UNNAMED : plain(name));
    this.#used.add(sent);
    if (name === null) this.#dropped.add("file_name_made");
    else if (sent !== name) this.#dropped.add("file_name_changed");
    return sent;
  }

  #free(wanted: string): string {
    for (let number = 1; ; number += 1) {
      const ending = number === 1 ? "" : ` ${number}`;
      const name = wanted.slice(0, MAXIMUM_LENGTH - ending.length).trimEnd() + ending;
      if (!this.#used.has(name)) return name;
    }
  }
}

/** `Report (v2).pdf` becomes `Report (v2)-pdf`. */
function plain(name: string): string {
  const taken = name
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[^a-zA-Z0-9 ()[\]-]+/g, "-")
    .replaceAll(/^[\s-]+|[\s-]+$/g, "");
  return taken === "" ? UNNAMED : taken;
}
